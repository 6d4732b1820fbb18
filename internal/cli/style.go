package cli

import (
	"fmt"
	"strings"
	"time"
)

// nameWidth is the width of the column with the names of steps.
const nameWidth = 22

const (
	green  = "32"
	red    = "31"
	cyan   = "36"
	subtle = "2"
)

func frames() []string {
	return []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
}

// runningLine returns the line of a running step.
func (s Style) runningLine(name string, frame int, elapsed time.Duration) string {
	all := frames()
	return s.paint(cyan, all[frame%len(all)]) + " " + name + s.formatElapsed(elapsed)
}

// endedLine returns the line of a step that has ended.
func (s Style) endedLine(name, detail string, err error, elapsed time.Duration) string {
	mark, color := "✓", green
	if err != nil {
		mark, color, detail = "✗", red, err.Error()
	}
	if !s.Terminal {
		mark = ""
		if err != nil {
			detail = "failed: " + detail
		}
	} else {
		mark = s.paint(color, mark) + " "
	}
	line := mark + name
	if detail != "" {
		line = mark + fmt.Sprintf("%-*s %s", nameWidth, name, detail)
	}
	return line + s.formatElapsed(elapsed)
}

// formatElapsed formats a duration, and returns "" for one too short to be of interest.
func (s Style) formatElapsed(elapsed time.Duration) string {
	if elapsed < time.Second/10 {
		return ""
	}
	return " " + s.paint(subtle, fmt.Sprintf("(%.1fs)", elapsed.Seconds()))
}

func (s Style) paint(color, text string) string {
	if !s.Color || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
