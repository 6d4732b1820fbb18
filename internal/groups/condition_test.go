package groups

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// A message that is cut within a character would be returned differently by the server, and be
// written again and again.
func TestLongMessageIsCutBetweenCharacters(t *testing.T) {
	conditions, _ := Conditions(&scheduling.PodGroup{}, Unschedulable("x"+strings.Repeat("…", maxMessage)), metav1.Time{})
	for _, c := range conditions {
		if n := len(c.Message); !utf8.ValidString(c.Message) || n > maxMessage || n < maxMessage-utf8.UTFMax {
			t.Errorf("%s: %d bytes, valid: %v", c.Type, n, utf8.ValidString(c.Message))
		}
	}
}
