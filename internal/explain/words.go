package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/allot-dev/allot/internal/model"
)

// maxSimilar limits the names that are offered for one that does not exist.
const maxSimilar = 3

// count returns a number with its noun: "1 device", "2 devices".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ss") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// firstNames joins the first names, and counts the others.
func firstNames(names []string, limit int) string {
	if more := len(names) - limit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), more)
	}
	return strings.Join(names, ", ")
}

// appendNew appends the texts that the list does not have.
func appendNew(list []string, texts ...string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// shortDuration returns a duration as kubectl shows ages.
func shortDuration(d time.Duration) string { return duration.HumanDuration(max(0, d)) }

// amount formats an amount of a resource as in a manifest.
func amount(name corev1.ResourceName, n int64) string {
	switch {
	case name == corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return fmt.Sprint(n)
}

// kubectl returns a command about an object.
func kubectl(verb, kind string, key model.Key, rest ...string) string {
	words := []string{"kubectl", verb, kind}
	if key.Name != "" {
		words = append(words, key.Name)
	}
	if key.Namespace != "" {
		words = append(words, "-n", key.Namespace)
	}
	return strings.Join(append(words, rest...), " ")
}

// similar returns the names that may have been meant.
func similar(name string, names []string) []string {
	limit := max(1, len(name)/3)
	type isNear struct {
		name     string
		distance int
	}
	var list []isNear
	for _, other := range names {
		d := distance(name, other)
		if strings.Contains(other, name) || strings.Contains(name, other) {
			d = min(d, limit)
		}
		if other != name && d <= limit {
			list = append(list, isNear{other, d})
		}
	}
	slices.SortStableFunc(list, func(a, b isNear) int { return a.distance - b.distance })
	var out []string
	for i := range list {
		if i == maxSimilar {
			break
		}
		out = append(out, list[i].name)
	}
	return out
}

// distance returns the edit distance of two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
