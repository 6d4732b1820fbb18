package openapi

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

type badKeys struct {
	M map[int]string `json:"m"`
}

type badField struct {
	C chan int `json:"c"`
}

type twice struct {
	metav1.TypeMeta `json:",inline"`
	Kind2           string `json:"kind"`
}

type otherPod struct{ core.Pod }

func TestBuilderNamesWhatItCannotDescribe(t *testing.T) {
	for _, c := range []struct {
		roots []any
		want  string
	}{
		{[]any{badKeys{}}, "keys that are not strings"},
		{[]any{badField{}}, "no schema for chan int"},
		{[]any{twice{}}, "kind is there twice"},
		{[]any{&core.Pod{}, otherPod{}}, "both have the model name io.k8s.api.core.v1.Pod"},
		{[]any{flowcontrolv1.FlowSchema{}}, "facts.txt does not cover"},
		{[]any{"text"}, "not a struct"},
	} {
		b, err := NewBuilder(c.roots...)
		if err == nil {
			_, err = b.Build(refTo)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want ...%s...", c.roots[0], err, c.want)
		}
	}
}

// TestOurTypeStandsForUpstreams checks that allot's type replaces upstream's, whichever of the two
// the builder reads first.
func TestOurTypeStandsForUpstreams(t *testing.T) {
	for _, roots := range [][]any{{corev1.PodSpec{}, core.PodSpec{}}, {core.PodSpec{}, corev1.PodSpec{}}} {
		b, err := NewBuilder(append(roots, corev1.PodTemplate{})...)
		if err != nil {
			t.Fatal(err)
		}
		definitions, err := b.Build(refTo)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := definitions["io.k8s.api.core.v1.PodResourceClaim"].Schema.Properties["podGroupResourceClaim"]; !ok {
			t.Errorf("%T first: upstream's definition has been kept", roots[0])
		}
	}
}

func TestTableNamesItsWrongLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"type m\n\tF list=map nonsense", "line 2"},
		{"type m\n\tF default={", "unexpected end of JSON"},
		{"type m\ntype m", "again"},
		{"enum p.T value", "invalid syntax"},
		{`enum p.T "a b" "c`, "invalid syntax"},
		{"strange line", "unknown word"},
		{"alone", "want two words"},
		{"\tF optional", "no type"},
	} {
		if _, err := parseTable(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want ...%s...", c.text, err, c.want)
		}
	}
}

// Values of an enum may contain spaces, such as the usages of certificates.
func TestValuesWithSpaces(t *testing.T) {
	table, err := parseTable(`enum p.T "a b" "c" "d \" e"`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := table.enums["p.T"], []any{"a b", "c", `d " e`}; !slices.Equal(got, want) {
		t.Errorf("values %q, want %q", got, want)
	}
}
