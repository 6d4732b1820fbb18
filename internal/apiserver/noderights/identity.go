package noderights

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

const userPrefix = "system:node:"

// identity returns the name of the node that a user is, and whether the user is in the group of
// nodes. The name is empty if the user's name is not that of a node.
func identity(who user.Info) (name string, isNode bool) {
	if who == nil || !slices.Contains(who.GetGroups(), user.NodesGroup) {
		return "", false
	}
	name, ok := strings.CutPrefix(who.GetName(), userPrefix)
	if !ok {
		return "", true
	}
	return name, true
}
