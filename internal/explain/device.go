package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Device explains a device: DRIVER/POOL/DEVICE, or a part of it that is unique.
func (e *Explainer) Device(name string) (*Report, error) {
	v, err := e.view(DefaultScheduler)
	if err != nil {
		return nil, err
	}
	found := e.devicesNamed(name)
	switch {
	case len(found) == 0:
		return nil, &NotFoundError{Object: Object{Kind: "Device", Name: name}, Similar: e.similarDevices(name)}
	case len(found) > 1:
		return nil, fmt.Errorf("%d devices have the name %s: %s", len(found), name, firstNames(found, maxNames))
	}
	parts := strings.SplitN(found[0], "/", 2)
	at := strings.LastIndex(parts[1], "/")
	id := model.DeviceID{Driver: parts[0], Pool: parts[1][:at], Device: parts[1][at+1:]}
	r := e.report("Device", model.Key{Name: id.String()})
	a := &attempt{Explainer: e, view: v}
	d := a.deviceAnswer(id)
	r.Devices = []DeviceAnswer{d}
	r.Summary = d.State
	e.deviceFacts(r, v, id)
	switch {
	case len(d.Taints) > 0:
		r.State = Unusable
		r.help("Claims get the device only if they tolerate its taints.", a.untaint(id)...)
	case len(d.Holders) > 0:
		r.State = InUse
	default:
		r.State = Free
	}
	if view, ok := v.state.Devices.View(id.PoolID()); ok {
		e.poolState(r, &view, id)
	}
	for _, h := range d.Holders {
		namespace, claim, ok := strings.Cut(h.Claim, "/")
		if !ok {
			continue
		}
		if c := e.claims[model.Key{Namespace: namespace, Name: claim}]; c != nil {
			r.moment(allocatedAt(c), "claim "+h.Claim+" got it")
		}
	}
	r.sortHistory()
	return r, nil
}

// deviceFacts adds where a device is.
func (e *Explainer) deviceFacts(r *Report, v *view, id model.DeviceID) {
	r.fact("Driver", id.Driver)
	r.fact("Pool", id.Pool)
	pool, ok := v.state.Devices.Pool(id.PoolID())
	if !ok {
		return
	}
	i, ok := pool.Index(id.Device)
	if !ok {
		return
	}
	switch scope := &pool.Devices[i].Scope; {
	case scope.All:
		r.fact("Usable from", "all nodes")
	case scope.Node != "":
		r.fact("Usable from", "node "+scope.Node)
	default:
		r.fact("Usable from", "nodes that match a selector")
	}
	for _, slice := range e.snap.Objects.Slices {
		if slice.Spec.Driver != id.Driver || slice.Spec.Pool.Name != id.Pool {
			continue
		}
		for j := range slice.Spec.Devices {
			if slice.Spec.Devices[j].Name == id.Device {
				r.moment(slice.CreationTimestamp, "ResourceSlice "+slice.Name+", which publishes it, was created")
				e.eventsAbout(r, "ResourceSlice", model.Key{Name: slice.Name})
			}
		}
	}
}

// poolState adds what keeps a free device from being allocated.
func (e *Explainer) poolState(r *Report, view *model.PoolView, id model.DeviceID) {
	if usable, why := view.Usable(); !usable {
		r.State, r.Summary = Unusable, why
		r.help(
			"Devices of a pool that is incomplete or contradicts itself are not allocated: its driver has to publish the pool again.",
			"kubectl get resourceslices",
		)
		return
	}
	i, ok := view.Index(id.Device)
	if !ok {
		r.State, r.Summary = Unusable, "it is in use, but no longer published by its driver"
		return
	}
	if why := alloc.NewPoolSummary(view).UnavailableReason(i); why != "" && r.State == Free {
		r.State, r.Summary = Unusable, "it cannot be allocated: it "+why
	}
}

// deviceAnswer describes a device with its holders.
func (a *attempt) deviceAnswer(id model.DeviceID) DeviceAnswer {
	d := DeviceAnswer{Device: id.String(), State: "free"}
	view, published := a.view.state.Devices.View(id.PoolID())
	if published {
		if i, ok := view.Index(id.Device); ok {
			a.describe(&d, &view, i)
		} else {
			published = false
		}
	}
	holders := slices.Compact(slices.Clone(a.view.state.Devices.Holders(id)))
	for _, by := range holders {
		d.Holders = append(d.Holders, a.deviceHolders(id, by)...)
	}
	for i := range d.Holders {
		d.Holders[i].Preemption = cmp.Or(d.Holders[i].Preemption, "")
	}
	switch {
	case !published:
		d.State = "not published any more"
	case len(d.Taints) > 0:
		d.State = "tainted"
	case len(holders) > 1:
		d.State = fmt.Sprintf("shared by %d claims", len(holders))
	case len(holders) == 1:
		d.State = "in use"
	}
	return d
}

// describe adds the attributes, capacities and taints of a published device.
func (a *attempt) describe(d *DeviceAnswer, view *model.PoolView, i int) {
	device := &view.Devices[i]
	for name, attribute := range device.Attributes {
		d.Attributes = append(d.Attributes, Fact{Name: string(name), Value: attributeText(&attribute)})
	}
	consumed, _ := view.ConsumedCapacity(i)
	for name, capacity := range device.Capacity {
		value := capacity.Value.String()
		if used, ok := consumed[name]; ok {
			value += ", of which " + used.String() + " is in use"
		}
		d.Attributes = append(d.Attributes, Fact{Name: "capacity " + string(name), Value: value})
	}
	slices.SortFunc(d.Attributes, func(x, y Fact) int { return cmp.Compare(x.Name, y.Name) })
	for j := range device.Taints {
		d.Taints = append(d.Taints, model.TaintText(&device.Taints[j])+" by its driver")
	}
	view.Rules().Each(device.Name, func(rule *model.TaintRule) bool {
		d.Taints = append(d.Taints, model.TaintText(&rule.Taint)+" by DeviceTaintRule "+rule.Name)
		return true
	})
}

// devicesNamed returns the devices with this name: in full, or its last parts.
func (e *Explainer) devicesNamed(name string) []string {
	var found []string
	for _, full := range e.DeviceNames() {
		if full == name {
			return []string{full}
		}
		if strings.HasSuffix(full, "/"+name) {
			found = append(found, full)
		}
	}
	return found
}

// DeviceNames returns the names of all devices that are published or in use, sorted.
func (e *Explainer) DeviceNames() []string {
	var names []string
	for _, slice := range e.snap.Objects.Slices {
		for i := range slice.Spec.Devices {
			names = append(names,
				model.DeviceID{Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: slice.Spec.Devices[i].Name}.String())
		}
	}
	for _, claim := range e.snap.Objects.Claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			names = append(names, model.DeviceIDOf(claim.Status.Allocation.Devices.Results[i]).String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *Explainer) similarDevices(name string) []string { return similar(name, e.DeviceNames()) }
