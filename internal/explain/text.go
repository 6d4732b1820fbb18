package explain

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	width      = 80
	factColumn = 15 // width of the names of facts
)

// WriteText writes the Report as text of 80 columns, without colour. Commands are never broken.
func (r *Report) WriteText(w io.Writer) error {
	t := &text{out: bufio.NewWriter(w)}
	verb := map[State]string{
		Waiting: "is waiting", Terminating: "is terminating", Finished: "has finished", InUse: "is in use",
		Partly: "is placed in part",
	}[r.State]
	if verb == "" {
		verb = "is " + strings.ToLower(string(r.State))
	}
	t.paragraph("", "", fmt.Sprintf("%s %s: %s", r.Subject, verb, strings.TrimSuffix(r.Summary, ".")+"."))
	if len(r.Unknown) > 0 {
		t.heading("Not known, so this answer may be wrong")
		for _, unknown := range r.Unknown {
			t.paragraph("  - ", "    ", unknown)
		}
	}
	t.line("")
	for _, fact := range r.Facts {
		name := fmt.Sprintf("  %-*s ", factColumn, fact.Name)
		t.paragraph(name, strings.Repeat(" ", factColumn+3), fact.Value)
	}
	t.groups(r.Groups)
	for i := range r.Pods {
		t.pods(&r.Pods[i], len(r.Pods) > 1)
	}
	t.placements(r.Placement)
	t.devices(r.Devices)
	t.history(r.History)
	if len(r.Help) > 0 {
		t.heading("What helps")
		for _, help := range r.Help {
			t.paragraph("  - ", "    ", help.What)
			for _, command := range help.Commands {
				t.line("      " + command)
			}
		}
	}
	return t.out.Flush()
}

// text writes lines. The first error is kept by the writer and returned by its Flush.
type text struct{ out *bufio.Writer }

func (t *text) line(line string) { fmt.Fprintln(t.out, strings.TrimRight(line, " ")) }

func (t *text) heading(heading string) {
	t.line("")
	t.paragraph("", "", heading)
}

// paragraph writes words in lines, the first one after first and the others after rest.
func (t *text) paragraph(first, rest, words string) {
	line := first
	empty := true
	for word := range strings.FieldsSeq(words) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			t.line(line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	t.line(line)
}

// maxGroups is how many groups of a tree are shown.
const maxGroups = 24

// groups writes a tree of groups, indented by level.
func (t *text) groups(groups []GroupAnswer) {
	if len(groups) == 0 {
		return
	}
	t.heading("Groups")
	for i := range groups[:min(len(groups), maxGroups)] {
		g := &groups[i]
		indent := strings.Repeat("  ", g.Level+1)
		line := fmt.Sprintf("%s (%s): %s", g.Name, g.Policy, g.State)
		if g.Problem != "" {
			line += "; " + g.Problem
		}
		t.paragraph(indent, indent+"    ", line)
	}
	if more := len(groups) - maxGroups; more > 0 {
		t.line(fmt.Sprintf("  and %d more", more))
	}
}

func (t *text) pods(p *PodAnswer, several bool) {
	if p.Examined > 0 {
		heading := fmt.Sprintf("Nodes: 0 of %d fit", p.Examined)
		if several {
			heading += " " + podsText(p.Pods)
		}
		t.heading(heading)
	} else if p.Reason != "" && (several || len(p.Details) > 0) {
		t.heading("Why")
		if several {
			t.paragraph("  ", "  ", podsText(p.Pods)+": "+p.Reason)
		}
		for _, detail := range p.Details {
			t.paragraph("  - ", "    ", detail)
		}
	}
	for i := range p.Nodes {
		t.class(&p.Nodes[i])
	}
	if p.Nearest != nil {
		t.nearest(p.Nearest)
	}
}

func (t *text) class(c *NodeClass) {
	what := c.Reason
	if c.Detail != "" {
		what += ": " + c.Detail
	}
	t.paragraph(fmt.Sprintf("%4d  ", c.Nodes), "      ", what)
	var plain []string
	for _, alike := range examplesByFound(c.Examples) {
		if alike.found == "" {
			plain = alike.nodes
			continue
		}
		t.paragraph("      ", "        ", strings.Join(alike.nodes, ", ")+": "+alike.found)
	}
	more := c.Nodes - len(c.Examples)
	switch {
	case len(plain) > 0 && more > 0:
		t.paragraph("      ", "      ", fmt.Sprintf("%s and %d more", strings.Join(plain, ", "), more))
	case len(plain) > 0:
		t.paragraph("      ", "      ", strings.Join(plain, ", "))
	case more > 0:
		t.line(fmt.Sprintf("      and %d more", more))
	}
}

// alikeNodes are nodes where the same was found.
type alikeNodes struct {
	found string
	nodes []string
}

// examplesByFound returns the examples together that say the same, in the order of the first of each.
func examplesByFound(examples []NodeExample) []alikeNodes {
	var list []alikeNodes
	for _, e := range examples {
		i := slices.IndexFunc(list, func(a alikeNodes) bool { return a.found == e.Found })
		if i < 0 {
			i = len(list)
			list = append(list, alikeNodes{found: e.Found})
		}
		list[i].nodes = append(list[i].nodes, e.Node)
	}
	return list
}

func (t *text) nearest(n *Nearest) {
	switch {
	case n.Node == "":
		t.heading("What is in the way: " + n.Missing)
	case len(n.Why)+len(n.Holders) > 0:
		t.heading("What is in the way on " + n.Node)
	}
	for _, why := range n.Why {
		t.paragraph("  - ", "    ", why)
	}
	t.holders(n.Holders)
}

func (t *text) holders(holders []Holder) {
	for i := range holders {
		h := &holders[i]
		head := h.Held
		if h.Claim != "" {
			if !strings.HasPrefix(h.Claim, "reserved") && !strings.HasPrefix(h.Claim, "excluded") {
				head += " is held by claim " + h.Claim
			} else {
				head += " is " + h.Claim
			}
		}
		if h.Since != "" {
			head += ", since " + h.Since
		}
		t.paragraph("  - ", "    ", head)
		for _, consumer := range h.Consumers {
			t.paragraph("      ", "        ", "used by "+consumer)
		}
		if h.Preemption != "" {
			t.paragraph("      ", "        ", h.Preemption)
		}
	}
}

func (t *text) placements(list []Placement) {
	for i := range list {
		p := &list[i]
		t.heading(
			fmt.Sprintf(
				"Where pod %s would be placed now, the best first (* is its node; of a number without \"of\" less is better)",
				p.Pod,
			),
		)
		chosen := false
		for _, c := range p.Candidates {
			var scores []string
			for _, s := range c.Scores {
				scores = append(scores, s.Preference+" "+s.Value)
			}
			mark := " "
			if c.Chosen {
				mark, chosen = "*", true
			}
			t.paragraph(fmt.Sprintf("%s%3d  ", mark, c.Rank), "      ", c.Node+": "+strings.Join(scores, "; "))
		}
		if !chosen {
			t.paragraph("  - ", "    ", "its node "+p.Node+" is not among the best any more: the cluster has changed since")
		}
	}
}

func (t *text) devices(list []DeviceAnswer) {
	if len(list) == 0 {
		return
	}
	t.heading("Devices")
	for i := range list {
		d := &list[i]
		head := d.Device + ": " + d.State
		if d.Request != "" {
			head += " (request " + d.Request + ")"
		}
		t.paragraph("  ", "    ", head)
		for _, a := range d.Attributes {
			t.paragraph("    ", "      ", a.Name+" = "+a.Value)
		}
		for _, taint := range d.Taints {
			t.paragraph("    ", "      ", "tainted: "+taint)
		}
		t.holders(d.Holders)
	}
}

func (t *text) history(list []Moment) {
	if len(list) == 0 {
		return
	}
	t.heading("What happened")
	for _, m := range list {
		t.paragraph("  "+m.Time.UTC().Format(time.RFC3339)+"  ", strings.Repeat(" ", 24), m.What)
	}
}
