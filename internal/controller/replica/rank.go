package replica

// FalseFirst compares two properties of pods, where false comes first.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
