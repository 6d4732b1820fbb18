package cron

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
)

func TestNext(t *testing.T) {
	from := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC) // in this night, Berlin skips an hour
	for _, tc := range []struct {
		text string
		zone *string
		want string // "" if it never matches
	}{
		{"0 2 * * *", nil, "2026-03-29T02:00:00Z"},
		{"30 2 * * *", ptr.To("Europe/Berlin"), "2026-03-30T00:30:00Z"},
		{"0 9 * * 1-5", ptr.To("America/New_York"), "2026-03-30T13:00:00Z"},
		{"CRON_TZ=Asia/Tokyo 0 9 * * *", ptr.To("Europe/Berlin"), "2026-03-30T00:00:00Z"},
		{"0 2 * * *", ptr.To("Nowhere/Land"), "2026-03-29T02:00:00Z"},
		{"@hourly", nil, "2026-03-29T01:00:00Z"},
		{"@every 90m", nil, "2026-03-29T02:00:00Z"},
		{"59 23 31 2 *", nil, ""},
	} {
		schedule, err := Parse(In(tc.text, tc.zone))
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		got := ""
		if next := schedule.Next(from); !next.IsZero() {
			got = next.UTC().Format(time.RFC3339)
		}
		if got != tc.want {
			t.Errorf("%s in %v: next is %q, want %q", tc.text, ptr.Deref(tc.zone, "UTC"), got, tc.want)
		}
	}
}

func TestParseRejects(t *testing.T) {
	for _, text := range []string{
		"", "TZ=0", "* * * *", "60 * * * *", "@never", "TZ=Nowhere/Land * * * * *", "a b c d e",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) returns no error", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"TZ=0", "*/5 * * * *", "@every 1s", "CRON_TZ=UTC 0 0 1 1 *", "TZ="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if schedule, err := Parse(text); err == nil {
			schedule.Next(time.Unix(0, 0))
		} else if schedule != nil {
			t.Errorf("Parse(%q) returns a schedule and an error", text)
		}
	})
}
