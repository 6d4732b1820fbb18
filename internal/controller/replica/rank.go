package replica

// FalseFirst compares two facts about pods when those of which it is not true come first.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
