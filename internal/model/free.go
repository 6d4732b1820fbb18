package model

// small limits the amounts of which two can be added and one subtracted without a check of the
// range of int64.
const small = 1 << 61

// isSmall reports whether an amount is between -small and small.
func isSmall(amount int64) bool { return amount > -small && amount < small }
