package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is a difference between two responses to a request.
type Difference struct {
	// Kind is the kind of the object, and Verb that of the request.
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
	diff := func(what, where, text string) Difference {
		return Difference{Kind: r.Kind, Verb: r.Verb, What: what, Where: where, Text: text}
	}
	switch {
	case ours.Panic != "":
		return []Difference{diff("allot panics", "", ours.Panic)}
	case theirs.Panic != "":
		return nil // Kubernetes has no response to compare with
	case theirs.Error != "" && ours.Error != "" && theirs.Code != ours.Code:
		codes := fmt.Sprintf("%d %s ≠ %d %s", theirs.Code, theirs.Error, ours.Code, ours.Error)
		return []Difference{diff("code", "", codes)}
	case theirs.Error != "" && ours.Error != "":
		return nil
	case theirs.Error != "" || ours.Error != "":
		if !theirs.Accepted() && !ours.Accepted() {
			return []Difference{diff("other refusal", "", theirs.refusal()+" ≠ "+ours.refusal())}
		}
	}
	var out []Difference
	if !theirs.Accepted() || !ours.Accepted() {
		only := "says"
		if theirs.Accepted() || ours.Accepted() {
			only = "refuses"
		} else if theirs.Code != ours.Code {
			out = append(out, diff("code", "", fmt.Sprintf("%d ≠ %d", theirs.Code, ours.Code)))
		}
		onlyTheirs, onlyOurs := without(theirs.causes(), ours.causes()), without(ours.causes(), theirs.causes())
		for _, c := range onlyTheirs {
			if right := rightPath(general(c)); slices.Contains(generals(onlyOurs), right) ||
				right != general(c) && slices.Contains(generals(ours.causes()), right) {
				out = append(out, diff("other path", general(c)+" → "+right, theirs.refusal()))
				continue
			}
			out = append(out, diff("only Kubernetes "+only, general(c), theirs.refusal()))
		}
		for _, c := range onlyOurs {
			if !slices.ContainsFunc(out, func(d Difference) bool { return strings.HasSuffix(d.Where, " → "+general(c)) }) {
				out = append(out, diff("only allot "+only, general(c), ours.refusal()))
			}
		}
		return out
	}
	for version, want := range theirs.Objects {
		for _, d := range pathsThatDiffer("", want, ours.Objects[version]) {
			out = append(out,
				diff("object", version+" "+general(d.path), fmt.Sprintf("%s: Kubernetes %v, allot %v", d.path, d.want, d.got)))
		}
	}
	var names []string
	for i := range theirs.Columns {
		names = append(names, theirs.Columns[i].Name)
	}
	// Allot's own columns come last.
	if n := len(theirs.Columns); len(ours.Columns) > n {
		ours.Columns, ours.Cells = ours.Columns[:n], ours.Cells[:min(n, len(ours.Cells))]
	}
	if text := cmp.Diff(theirs.Columns, ours.Columns,
		cmpopts.IgnoreFields(metav1.TableColumnDefinition{}, "Description")); text != "" {
		out = append(out, diff("columns", "", text))
	} else if len(theirs.Cells) != len(ours.Cells) {
		out = append(out, diff("cells", "", fmt.Sprintf("%v ≠ %v", theirs.Cells, ours.Cells)))
	} else {
		for i := range theirs.Cells {
			if fmt.Sprint(theirs.Cells[i]) != fmt.Sprint(ours.Cells[i]) {
				out = append(out, diff("cells", names[i], fmt.Sprintf("Kubernetes %v, allot %v", theirs.Cells[i], ours.Cells[i])))
			}
		}
	}
	return out
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
	if cmp.Equal(want, got) || sameMoment(want, got) {
		return nil
	}
	return []unequal{{path, want, got}}
}
