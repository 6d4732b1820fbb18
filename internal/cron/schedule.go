package cron

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the time zones, for machines that have none

	"github.com/robfig/cron/v3"
)

// Schedule returns the times of a schedule.
type Schedule interface {
	// Next returns the next time after t, or the zero time if there is none within five years.
	Next(t time.Time) time.Time
}

// Parse parses a schedule: five fields, or a descriptor such as @hourly or @every 1h. Without a
// time zone in the text, the times are in the zone of the time that is given to Next.
func Parse(text string) (schedule Schedule, err error) {
	// The library panics at some texts with a time zone and nothing else, such as "TZ=0".
	defer func() {
		if p := recover(); p != nil {
			schedule, err = nil, fmt.Errorf("invalid schedule format: %v", p)
		}
	}()
	return cron.ParseStandard(text)
}

// HasZone reports whether the text of a schedule names a time zone, which old objects may have.
func HasZone(text string) bool { return strings.Contains(text, "TZ") }

// In returns the text of a schedule in a time zone. A zone that the text names comes first, and an
// unknown zone is left out.
func In(text string, zone *string) string {
	if HasZone(text) || zone == nil {
		return text
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		return text
	}
	return "TZ=" + *zone + " " + text
}
