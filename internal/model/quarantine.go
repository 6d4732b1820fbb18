package model

// Quarantine keeps a device from being allocated until EndQuarantine. Claims that hold the device
// keep it.
func (s *DeviceStore) Quarantine(id DeviceID) {
	if !s.quarantined[id] {
		s.setQuarantine(id, true)
	}
}

// EndQuarantine permits that the device is allocated again.
func (s *DeviceStore) EndQuarantine(id DeviceID) []Topic {
	if !s.quarantined[id] {
		return nil
	}
	s.setQuarantine(id, false)
	return []Topic{{Kind: TopicDevices}}
}

// Quarantined reports whether the device is kept from being allocated.
func (s *DeviceStore) Quarantined(id DeviceID) bool { return s.quarantined[id] }

func (s *DeviceStore) setQuarantine(id DeviceID, on bool) {
	s.log.record(func() { s.setQuarantine(id, !on) })
	whole := &Allocation{}
	whole.Devices = append(whole.Devices, resultOf(id))
	holder := Holder{Kind: ByQuarantine}
	if on {
		s.quarantined[id] = true
		s.hold(holder, whole)
	} else {
		delete(s.quarantined, id)
		s.release(holder, whole)
	}
}
