package judge

// Rule is a difference that is intended.
type Rule struct {
	// Name says what differs, and Reason why.
	Name, Reason string
	// Listed is a part of the line of DIFFERENCES.md that has it.
	Listed string
	// Holds reports whether a difference is of this kind.
	Holds func(d Difference, r Request) bool
}

// Intended returns all differences that are intended.
func Intended() []Rule {
	return nil
}

// explain returns the index of the rule that explains a difference, or -1.
func explain(d Difference, r Request) int {
	for i, rule := range Intended() {
		if rule.Holds(d, r) {
			return i
		}
	}
	return -1
}
