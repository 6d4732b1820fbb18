package cli

import (
	"fmt"
	"time"
)

const (
	// maxLines is up to how many objects each has lines of its own.
	maxLines = 20
	// countTime is how often the count of a step is written where it cannot be refreshed in place.
	countTime = 10 * time.Second
)

// Counted is a step that goes through a number of objects. A terminal shows the count in place; other
// outputs have a line from time to time. It has one user at a time.
type Counted struct {
	progress *Progress
	step     *step
	name     string
	total    int
	count    int
	written  time.Time
}

// Counted begins a step with total objects.
func (p *Progress) Counted(name string, total int) *Counted {
	return &Counted{progress: p, step: p.begin(name), name: name, total: total, written: p.clock.Now()}
}

// Object writes a line about one object, unless there are too many of them.
func (c *Counted) Object(line string) {
	if c.total <= maxLines {
		c.progress.Line("%s", line)
	}
}

// Note writes a line about the step.
func (c *Counted) Note(line string) { c.progress.Line("%s", line) }

// Set sets how many objects are done.
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

// Count returns how many objects are done.
func (c *Counted) Count() int { return c.count }

// Done ends the step.
func (c *Counted) Done(detail string, err error) {
	c.progress.rename(c.step, c.name)
	c.progress.end(c.step, detail, err)
}
