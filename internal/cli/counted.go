package cli

import (
	"fmt"
	"time"
)

const (
	// maxLines is the largest number of objects for which each object has lines of its own.
	maxLines = 20
	// countTime is the interval at which the count of a step is written to an output that cannot
	// refresh it in place.
	countTime = 10 * time.Second
)

// Counted is a step that processes a number of objects. A terminal shows the count in place; other
// outputs get a line at intervals. It is not safe for concurrent use.
type Counted struct {
	progress *Progress
	step     *step
	name     string
	total    int
	count    int
	written  time.Time
}

// Counted starts a step with total objects.
func (p *Progress) Counted(name string, total int) *Counted {
	return &Counted{progress: p, step: p.begin(name), name: name, total: total, written: p.clock.Now()}
}

// Object writes a line about one object, unless the step has too many of them.
func (c *Counted) Object(line string) {
	if c.total <= maxLines {
		c.progress.Line("%s", line)
	}
}

// Note writes a line about the step.
func (c *Counted) Note(line string) { c.progress.Line("%s", line) }

// Set sets the number of objects that are done.
func (c *Counted) Set(count int) {
	if count == c.count {
		return
	}
	c.count = count
	text := fmt.Sprintf("%s: %d of %d", c.name, c.count, c.total)
	if c.progress.style.Terminal {
		c.progress.rename(c.step, text)
		return
	}
	if now := c.progress.clock.Now(); c.total > maxLines && now.Sub(c.written) >= countTime {
		c.written = now
		c.progress.Line("%s", text)
	}
}

// maxWaiting is the largest number of waiting objects that a terminal shows below a step.
const maxWaiting = 6

// Waiting sets what the objects wait for that are not done, a line for each. Only a terminal shows
// it, in place.
func (c *Counted) Waiting(lines []string) {
	if !c.progress.style.Terminal {
		return
	}
	if more := len(lines) - maxWaiting; more > 0 {
		lines = append(lines[:maxWaiting:maxWaiting], fmt.Sprintf("and %d more", more))
	}
	c.progress.detail(c.step, lines)
}

// Count returns the number of objects that are done.
func (c *Counted) Count() int { return c.count }

// Done ends the step.
func (c *Counted) Done(detail string, err error) {
	c.progress.rename(c.step, c.name)
	c.progress.end(c.step, detail, err)
}
