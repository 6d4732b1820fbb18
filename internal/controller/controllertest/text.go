package controllertest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owners returns the names of an object's owners.
func Owners(obj metav1.Object) []string {
	var names []string
	for _, ref := range obj.GetOwnerReferences() {
		names = append(names, ref.Name)
	}
	return names
}

// Sort sorts runs of lines about pods that were created or deleted concurrently.
func Sort(lines []string) {
	slices.SortStableFunc(lines, func(a, b string) int {
		for _, parallel := range []string{"create pod ", "delete pod "} {
			if strings.HasPrefix(a, parallel) && strings.HasPrefix(b, parallel) {
				return strings.Compare(a, b)
			}
		}
		return 0
	})
}
