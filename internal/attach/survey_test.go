package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/allot-dev/allot/internal/features"
)

// discovered is a server of a few kinds: "scheduling.k8s.io/v1beta1" → "podgroups workloads". A
// value that begins with a "!" is an error: !404, !503.
type discovered struct {
	release string
	kinds   map[string]string
}

func failed(status string) error {
	switch status {
	case "!404":
		return apierrors.NewNotFound(schema.GroupResource{}, "")
	case "!503":
		return apierrors.NewServiceUnavailable("the server is starting")
	case "!slow":
		return context.DeadlineExceeded
	}
	return nil
}

func (d *discovered) ServerVersionWithContext(context.Context) (*version.Info, error) {
	if err := failed(d.kinds["version"]); err != nil {
		return nil, err
	}
	return &version.Info{GitVersion: "v1." + d.release + ".0", Major: "1", Minor: d.release}, nil
}

func (d *discovered) ServerGroupsWithContext(context.Context) (*metav1.APIGroupList, error) {
	if err := failed(d.kinds["groups"]); err != nil {
		return nil, err
	}
	var list metav1.APIGroupList
	for name := range d.kinds {
		gv, err := schema.ParseGroupVersion(name)
		if err != nil {
			return nil, err
		}
		list.Groups = append(list.Groups,
			metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{{Version: gv.Version}}})
	}
	return &list, nil
}

func (d *discovered) ServerResourcesForGroupVersionWithContext(
	_ context.Context, gv string,
) (*metav1.APIResourceList, error) {
	if err := failed(d.kinds[gv]); err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	for name := range strings.FieldsSeq(d.kinds[gv]) {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	return &list, nil
}

// TestChoices runs testdata/choices: which controllers run on servers of different releases, and
// what happens if a server does not respond (F69). Rewrite with: go test ./internal/attach -run
// Choices -rewrite.
func TestChoices(t *testing.T) {
	datadriven.RunTest(t, "testdata/choices", func(t *testing.T, d *datadriven.TestData) string {
		server := &discovered{kinds: map[string]string{}}
		d.ScanArgs(t, "release", &server.release)
		var wanted []string
		for _, arg := range d.CmdArgs {
			if arg.Key == "controllers" {
				wanted = arg.Vals
			}
		}
		for line := range strings.SplitSeq(d.Input, "\n") {
			gv, kinds, _ := strings.Cut(line, ": ")
			server.kinds[gv] = strings.ReplaceAll(kinds, "devices ", strings.Join(required, " ")+" ")
		}
		survey, err := Look(t.Context(), server)
		if err != nil {
			return fmt.Sprintf("waits: %v (no DRA: %t)\n", err, errors.Is(err, ErrNoDRA))
		}
		return describe(Choose(survey, wanted, features.Set{}))
	})
}

func describe(c Choice) string {
	slices.Sort(c.Absent)
	var b strings.Builder
	fmt.Fprintf(&b, "groups: %s\n", c.Dialect.Groups)
	if !c.Dialect.TaintRules.Empty() {
		fmt.Fprintf(&b, "taint rules: %s\n", c.Dialect.TaintRules)
	}
	fmt.Fprintf(&b, "controllers: %s\n", strings.Join(c.Controllers, " "))
	fmt.Fprintf(&b, "off: %s\n", &c.Features)
	fmt.Fprintf(&b, "absent: %s\n", strings.Join(c.Absent, " "))
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}
