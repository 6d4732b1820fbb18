package forecast

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	width = 80
	// maxPods limits the pods of one subject in the text; the other forms have all.
	maxPods = 10
	// maxWaits limits the units in the text that wait.
	maxWaits = 10
)

// WriteText writes the Plan as text of 80 columns, without colour. Commands are never broken.
func (p *Plan) WriteText(w io.Writer) error {
	t := &text{out: bufio.NewWriter(w)}
	t.list("Not known, so this answer may be wrong:", p.Unknown)
	if p.Recomputed {
		t.paragraph("", "", "Another scheduler than allot decides about some of these pods; this is what allot would decide.")
		t.line("")
	}
	if p.Capacity != nil {
		t.capacity(p.Capacity)
	} else {
		t.objects(p.Objects)
		t.pods(p.Pods)
		t.waits(p.Waits)
	}
	t.problems(p.Problems)
	t.list("Not covered:", p.Notes)
	if p.Capacity == nil {
		t.line(p.Summary.String())
	}
	return t.out.Flush()
}

// String returns the Summary as one line.
func (s Summary) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{s.Placed, "to place"}, {s.Moved, "to move"}, {s.Evicted, "to evict"}, {s.Deleted, "to delete"},
		{s.Waiting, "would wait"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	line := "Plan: no pod is affected."
	if len(parts) > 0 {
		line = "Plan: pods: " + strings.Join(parts, ", ") + "."
	}
	if s.StillWaiting > 0 {
		line += fmt.Sprintf(" %d wait as before.", s.StillWaiting)
	}
	return line
}

// text writes lines. The first error is kept by the writer and returned by its Flush.
type text struct{ out *bufio.Writer }

func (t *text) line(line string) { fmt.Fprintln(t.out, strings.TrimRight(line, " ")) }

// paragraph writes words in lines that begin with first, and then with next.
func (t *text) paragraph(first, next, words string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(words) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			t.line(line)
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	t.line(line)
}

func (t *text) list(heading string, items []string) {
	if len(items) == 0 {
		return
	}
	t.line(heading)
	for _, item := range items {
		t.paragraph("  - ", "    ", item)
	}
	t.line("")
}

// signs are the signs of actions, as in a diff.
var signs = map[Action]string{
	Create:  "+",
	Update:  "~",
	Delete:  "-",
	Place:   "+",
	Move:    "~",
	Evict:   "-",
	Preempt: "-",
	Wait:    "!",
}

func (t *text) objects(list []ObjectChange) {
	for _, o := range list {
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + name
		}
		t.line(fmt.Sprintf("%s %s %s", signs[o.Action], o.Kind, name))
	}
	if len(list) > 0 {
		t.line("")
	}
}

// subject returns what a change is listed under.
func (c *PodChange) subject() string {
	switch {
	case c.Owner != "":
		return c.Owner
	case c.Group != "":
		return "PodGroup " + c.Group
	}
	return ""
}

// pods writes the changes of pods that do not wait, by their controllers.
func (t *text) pods(changes []PodChange) {
	bySubject := map[string][]PodChange{}
	var subjects []string
	for _, c := range changes {
		if c.Action == Wait {
			continue
		}
		if bySubject[c.subject()] == nil {
			subjects = append(subjects, c.subject())
		}
		bySubject[c.subject()] = append(bySubject[c.subject()], c)
	}
	slices.Sort(subjects)
	for _, subject := range subjects {
		list := bySubject[subject]
		indent := ""
		if subject != "" {
			t.line(subject)
			indent = "  "
		}
		for i := range min(len(list), maxPods) {
			t.pod(indent, &list[i])
		}
		if more := len(list) - maxPods; more > 0 {
			t.line(fmt.Sprintf("%s  and %d more (-o yaml has all)", indent, more))
		}
		t.line("")
	}
}

func (t *text) pod(indent string, c *PodChange) {
	name := c.Namespace + "/" + c.Name
	if c.Owner != "" {
		name = c.Name
	}
	line := name
	switch c.Action {
	case Place:
		line += " on " + c.To
	case Move:
		line = fmt.Sprintf("%s from %s to %s", c.Replaces, c.From, c.To)
		if c.Name != c.Replaces {
			line += " as " + c.Name
		}
	case Evict, Preempt, Delete:
		if c.From != "" {
			line += " leaves " + c.From
		} else {
			line += " is deleted"
		}
	}
	if c.Reason != "" {
		line += ": " + c.Reason
	}
	t.paragraph(indent+signs[c.Action]+" pod ", indent+"    ", line)
	for _, d := range c.Devices {
		t.paragraph(indent+"    ", indent+"      ", fmt.Sprintf("%s (%s, request %s)", d.Device, d.Claim, d.Request))
	}
}

func (t *text) waits(waits []Waiting) {
	shown := 0
	for i := range waits {
		w := &waits[i]
		if w.Already || shown == maxWaits {
			continue
		}
		shown++
		t.waiting("! ", w)
		t.line("")
	}
	if more := len(waits) - shown; more > 0 {
		t.line(fmt.Sprintf("  %d more wait; those that wait already: allot explain", more))
		t.line("")
	}
}

func (t *text) waiting(first string, w *Waiting) {
	head := fmt.Sprintf("%s would wait", w.Subject)
	if len(w.Pods) > 1 {
		head = fmt.Sprintf("%s: %d pods would wait", w.Subject, len(w.Pods))
	}
	if w.Reason != "" {
		head += ": " + w.Reason
	}
	t.paragraph(first, "    ", head)
	for _, help := range w.Help {
		t.paragraph("    - ", "      ", help.What)
		for _, command := range help.Commands {
			t.line("        " + command)
		}
	}
}

func (t *text) problems(list []Problem) {
	for _, p := range list {
		t.paragraph("! ", "    ", p.Object+": "+p.Reason)
	}
	if len(list) > 0 {
		t.line("")
	}
}

func (t *text) capacity(c *Capacity) {
	atLeast := ""
	if c.AtLeast {
		atLeast = "at least "
	}
	pods := "pods"
	if c.Pods == 1 {
		pods = "pod"
	}
	t.paragraph("", "", fmt.Sprintf("%s%d more fit (%d %s each), without preemption.", atLeast, c.Copies, c.Pods, pods))
	t.line("")
	if c.RunsOut == nil {
		return
	}
	t.line("What runs out first:")
	t.waiting("  ", c.RunsOut)
	for i := range c.RunsOut.Answers {
		for _, class := range c.RunsOut.Answers[i].Nodes {
			t.paragraph("    ", "      ",
				fmt.Sprintf("%d of %d nodes: %s", class.Nodes, c.RunsOut.Answers[i].Examined, joined(class.Reason, class.Detail)))
		}
	}
	t.line("")
}

// joined returns a reason with its detail, if it has one.
func joined(reason, detail string) string {
	if detail == "" {
		return reason
	}
	return reason + ": " + detail
}
