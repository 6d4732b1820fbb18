package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is a difference between two responses to a request.
type Difference struct {
	// Kind is the kind of the object with its group, and Verb that of the request.
	Kind, Verb string
	// What differs: "only Kubernetes refuses", "only allot refuses", "only Kubernetes says", "only
	// allot says", "code", "object", "columns" or "cells".
	What string
	// Where is the cause ("type field") or the path in the object, without indexes and map keys.
	Where string
	// Text is the complete cause, or the difference between the objects.
	Text string
}

func (d Difference) String() string {
	return strings.Join([]string{d.Kind, d.Verb, d.What, d.Where}, " | ")
}

// Compare returns the differences between the responses of Kubernetes and of allot to a request.
func Compare(r Request, theirs, ours Answer) []Difference {
	c := &comparison{request: r, theirs: theirs, ours: ours}
	switch {
	case ours.Panic != "":
		c.add("allot panics", "", ours.Panic)
	case theirs.Panic != "":
		// Kubernetes has no response to compare with.
	case theirs.Error != "" && ours.Error != "":
		if theirs.Code != ours.Code {
			c.add("code", "", fmt.Sprintf("%d %s ≠ %d %s", theirs.Code, theirs.Error, ours.Code, ours.Error))
		}
	case theirs.Accepted() && ours.Accepted():
		c.objects()
		c.tables()
	case (theirs.Error != "" || ours.Error != "") && !theirs.Accepted() && !ours.Accepted():
		c.add("other refusal", "", theirs.refusal()+" ≠ "+ours.refusal())
	default:
		c.refusals()
	}
	return c.out
}

// comparison compares two responses to a request.
type comparison struct {
	request      Request
	theirs, ours Answer
	out          []Difference
}

func (c *comparison) add(what, where, text string) {
	c.out = append(c.out, Difference{
		Kind: c.request.GroupKind(), Verb: c.request.Verb, What: what, Where: where, Text: text,
	})
}

// refusals compares the causes for which one or both refuse the request.
func (c *comparison) refusals() {
	only := "says"
	if c.theirs.Accepted() || c.ours.Accepted() {
		only = "refuses"
	} else if c.theirs.Code != c.ours.Code {
		c.add("code", "", fmt.Sprintf("%d ≠ %d", c.theirs.Code, c.ours.Code))
	}
	theirs, ours := c.theirs.causes(), c.ours.causes()
	onlyOurs := without(ours, theirs)
	for _, cause := range without(theirs, ours) {
		right := rightPath(general(cause))
		if slices.Contains(generals(onlyOurs), right) ||
			right != general(cause) && slices.Contains(generals(ours), right) {
			c.add("other path", general(cause)+" → "+right, c.theirs.refusal())
			continue
		}
		c.add("only Kubernetes "+only, general(cause), c.theirs.refusal())
	}
	for _, cause := range onlyOurs {
		if !slices.ContainsFunc(c.out, func(d Difference) bool { return strings.HasSuffix(d.Where, " → "+general(cause)) }) {
			c.add("only allot "+only, general(cause), c.ours.refusal())
		}
	}
}

// objects compares the objects in each version.
func (c *comparison) objects() {
	for version, want := range c.theirs.Objects {
		for _, d := range pathsThatDiffer("", want, c.ours.Objects[version]) {
			c.add("object", version+" "+general(d.path), fmt.Sprintf("%s: Kubernetes %v, allot %v", d.path, d.want, d.got))
		}
	}
}

// tables compares the columns and cells of the printed objects. Allot's own columns come last, and
// are not compared.
func (c *comparison) tables() {
	columns, cells := c.ours.Columns, c.ours.Cells
	if n := len(c.theirs.Columns); len(columns) > n {
		columns, cells = columns[:n], cells[:min(n, len(cells))]
	}
	text := cmp.Diff(c.theirs.Columns, columns, cmpopts.IgnoreFields(metav1.TableColumnDefinition{}, "Description"))
	switch {
	case text != "":
		c.add("columns", "", text)
		return
	case len(c.theirs.Cells) != len(cells):
		c.add("cells", "", fmt.Sprintf("%v ≠ %v", c.theirs.Cells, cells))
		return
	}
	for i, want := range c.theirs.Cells {
		if fmt.Sprint(want) != fmt.Sprint(cells[i]) && !bothGenerated(want, cells[i]) {
			c.add("cells", columns[i].Name, fmt.Sprintf("Kubernetes %v, allot %v", want, cells[i]))
		}
	}
}

func (a Answer) causes() []string {
	if a.Error != "" {
		return []string{"error"}
	}
	return a.Causes
}

func (a Answer) refusal() string {
	if a.Error != "" {
		return a.Error
	}
	return strings.Join(a.Texts, "; ")
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

func generals(causes []string) []string {
	out := make([]string, len(causes))
	for i, c := range causes {
		out[i] = general(c)
	}
	return out
}

// general returns a path without indexes and keys.
func general(path string) string {
	var out strings.Builder
	depth := 0
	for _, c := range path {
		switch {
		case c == '[':
			if depth == 0 {
				out.WriteString("[]")
			}
			depth++
		case c == ']' && depth > 0:
			depth--
		case depth == 0:
			out.WriteRune(c)
		}
	}
	return out.String()
}

// sameMoment reports whether both are the time of the test: the servers read the clock one after
// the other.
func sameMoment(want, got any) bool {
	a, _ := want.(string)
	b, _ := got.(string)
	t, err := time.Parse(time.RFC3339, a)
	u, err2 := time.Parse(time.RFC3339, b)
	return err == nil && err2 == nil && time.Since(t) < time.Hour && time.Since(u) < time.Hour
}

// generatedName matches a name that a server gives to an object without one.
var generatedName = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// bothGenerated reports whether both are names that the servers gave.
func bothGenerated(want, got any) bool {
	a, _ := want.(string)
	b, _ := got.(string)
	return generatedName.MatchString(a) && generatedName.MatchString(b)
}

type unequal struct {
	path      string
	want, got any
}

func pathsThatDiffer(path string, want, got any) []unequal {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		var out []unequal
		keys := map[string]bool{}
		for k := range w {
			keys[k] = true
		}
		for k := range g {
			keys[k] = true
		}
		for k := range keys {
			out = append(out, pathsThatDiffer(path+"."+k, w[k], g[k])...)
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var out []unequal
		for i := range w {
			out = append(out, pathsThatDiffer(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return out
	}
	if cmp.Equal(want, got) || sameMoment(want, got) || bothGenerated(want, got) {
		return nil
	}
	return []unequal{{path, want, got}}
}
