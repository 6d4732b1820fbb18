package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"
)

// frameTime is the duration of one frame of the spinner.
const frameTime = 100 * time.Millisecond

// Style is the format of the output.
type Style struct {
	// Terminal enables a spinner, drawn in place, for a running step.
	Terminal bool
	// Color enables colours. It is only set on a terminal.
	Color bool
}

// StyleFor returns the Style for an output, and for NO_COLOR and TERM in the environment.
func StyleFor(w io.Writer, getenv func(string) string) Style {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "dumb" {
		return Style{}
	}
	return Style{Terminal: true, Color: getenv("NO_COLOR") == ""}
}

// Progress writes the progress of steps. It is safe for concurrent use. If several steps run, one
// of them has the spinner.
type Progress struct {
	w     io.Writer
	style Style
	clock clock.WithTicker

	mu     sync.Mutex
	active []*step // running steps; the last one has the spinner
	frame  int
	drawn  bool // reports whether the current line shows a spinner
	below  bool // reports whether there are lines below it
}

type step struct {
	name    string
	details []string // lines below the spinner
	begun   time.Time
	stop    chan struct{}
}

// NewProgress returns a Progress that writes to w. A nil clock is the wall clock.
func NewProgress(w io.Writer, style Style, c clock.WithTicker) *Progress {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Progress{w: w, style: style, clock: c}
}

// Step starts a step. The returned function ends it, with a detail or an error.
func (p *Progress) Step(name string) (done func(detail string, err error)) {
	s := p.begin(name)
	return func(detail string, err error) { p.end(s, detail, err) }
}

func (p *Progress) begin(name string) *step {
	s := &step{name: name, begun: p.clock.Now(), stop: make(chan struct{})}
	p.mu.Lock()
	p.active = append(p.active, s)
	p.draw()
	p.mu.Unlock()
	if p.style.Terminal {
		go p.spin(s)
	}
	return s
}

// rename changes the name of a running step.
func (p *Progress) rename(s *step, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.name = name
	p.draw()
}

// detail sets the lines below the spinner of a running step.
func (p *Progress) detail(s *step, lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	s.details = lines
	p.draw()
}

// Line writes a line above the spinner.
func (p *Progress) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
	p.draw()
}

func (p *Progress) end(s *step, detail string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.active {
		if other == s {
			p.active = append(p.active[:i:i], p.active[i+1:]...)
			close(s.stop)
			p.clear()
			fmt.Fprintln(p.w, p.style.endedLine(s.name, detail, err, p.clock.Since(s.begun)))
			p.draw()
			return
		}
	}
}

func (p *Progress) spin(s *step) {
	ticker := p.clock.NewTicker(frameTime)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C():
			p.mu.Lock()
			if len(p.active) > 0 && p.active[len(p.active)-1] == s {
				p.frame++
				p.draw()
			}
			p.mu.Unlock()
		}
	}
}

func (p *Progress) draw() {
	if !p.style.Terminal || len(p.active) == 0 {
		return
	}
	s := p.active[len(p.active)-1]
	text := "\r\x1b[K" + p.style.runningLine(s.name, p.frame, p.clock.Since(s.begun))
	if n := len(s.details); n > 0 {
		// A line that wrapped would take two, and the cursor would not return to the spinner.
		width := widthOf(p.w)
		for _, line := range s.details {
			text += "\n\x1b[K" + p.style.paint(subtle, cut("  "+line, width-1))
		}
		text += fmt.Sprintf("\x1b[%dA", n)
		p.below = true
	}
	fmt.Fprint(p.w, text)
	p.drawn = true
}

func (p *Progress) clear() {
	if p.drawn {
		end := "K" // of the line
		if p.below {
			end = "J" // of the screen
		}
		fmt.Fprint(p.w, "\r\x1b["+end)
		p.drawn, p.below = false, false
	}
}

// defaultWidth is the width of a terminal that does not report it.
const defaultWidth = 80

// widthOf returns the width of the terminal that w writes to.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}

// cut shortens a line to a number of characters.
func cut(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:max(0, width-1)]) + "…"
	}
	return line
}
