package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allot-dev/allot/internal/features"
)

// metricRow is a metric in docs/metrics.md, with its type. internal/metrics checks that the page has
// all metrics and no others.
var metricRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\|")

// series returns the names of all time series that docs/metrics.md documents.
func series(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, row := range metricRow.FindAllStringSubmatch(read(t, filepath.Join(root, "docs/metrics.md")), -1) {
		if row[2] != "histogram" {
			known[row[1]] = true
			continue
		}
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			known[row[1]+suffix] = true
		}
	}
	if len(known) < 30 {
		t.Fatalf("found only %d series", len(known))
	}
	return known
}

// metricName is a name with one of the prefixes of metrics.
var metricName = regexp.MustCompile(`\b(?:allot|scheduler|dynamic_resource_allocation|device_taint_eviction)_[a-z_]+`)

// Alerts and panels read series that are there: a misspelt one would never fire, and look well.
func TestAlertsAndPanelsReadMetricsThatExist(t *testing.T) {
	known := series(t)
	expressions := regexp.MustCompile(`(?m)(?:^\s*expr: |"(?:expr|query)": )(.*)$`)
	for file, least := range map[string]int{"alerts.yaml": 10, "dashboard.json": 20} {
		found := expressions.FindAllStringSubmatch(read(t, filepath.Join(root, "charts/allot/monitoring", file)), -1)
		if len(found) < least {
			t.Errorf("%s has only %d expressions", file, len(found))
		}
		for _, expression := range found {
			if expression[1] == `"prometheus",` || expression[1] == `"prometheus"` {
				continue // the kind of a data source
			}
			names := metricName.FindAllString(expression[1], -1)
			if len(names) == 0 {
				t.Errorf("%s: no metric in %s", file, expression[1])
			}
			for _, name := range names {
				if !known[name] {
					t.Errorf("%s reads %s, which docs/metrics.md does not have: %s", file, name, expression[1])
				}
			}
		}
	}
}

// Each alert leads to the section of the runbook that names it, and each that is named there exists.
func TestEachAlertHasItsSectionInTheRunbook(t *testing.T) {
	alerts := read(t, filepath.Join(root, "charts/allot/monitoring/alerts.yaml"))
	runbook := read(t, filepath.Join(root, "docs/runbook.md"))
	section := map[string]string{} // by alert
	for text := range strings.SplitSeq(runbook, "\n## ") {
		title, body, _ := strings.Cut(text, "\n")
		anchor := strings.ReplaceAll(strings.ToLower(title), " ", "-")
		if named, ok := strings.CutPrefix(body, "\n*Alert"); ok {
			names, _, _ := strings.Cut(named, ".*")
			for _, name := range regexp.MustCompile(`Allot\w+`).FindAllString(names, -1) {
				section[name] = anchor
			}
		}
	}
	for rule := range strings.SplitSeq(alerts, "- alert: ") {
		name, body, _ := strings.Cut(rule, "\n")
		url := regexp.MustCompile(`runbook_url: RUNBOOK#([a-z-]+)\n`).FindStringSubmatch(body)
		switch {
		case !strings.HasPrefix(name, "Allot"): // what is above the first rule
		case url == nil || url[1] != section[name]:
			t.Errorf("%s leads to %v, and %q of the runbook is about it", name, url, section[name])
		}
		delete(section, name)
	}
	if len(section) > 0 {
		t.Errorf("the runbook names alerts that do not exist: %v", section)
	}
}

// The runbook has a row for each gate: what happens to what exists when it is switched off.
func TestRunbookKnowsEachGate(t *testing.T) {
	_, text, _ := strings.Cut(read(t, filepath.Join(root, "docs/runbook.md")), "| gate |")
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]*)\|`).FindAllStringSubmatch(text, -1) {
		rows = append(rows, regexp.MustCompile("[A-Z][A-Za-z]{6,}").FindAllString(row[1], -1)...)
	}
	for _, line := range features.Known() {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(name, "All") || strings.Contains(line, "no effect") || strings.Contains(line, "locked") {
			continue
		}
		if !slices.Contains(rows, name) {
			t.Errorf("no row for %s", line)
		}
	}
}

// The chart's copy of the runbook's address is that of the page.
func TestRunbookOfTheChartExists(t *testing.T) {
	values := read(t, filepath.Join(root, "charts/allot/values.yaml"))
	_, url, ok := strings.Cut(values, "runbook: https://github.com/allot-dev/allot/blob/main/")
	name, _, _ := strings.Cut(url, "\n")
	if _, err := os.Stat(filepath.Join(root, name)); !ok || err != nil {
		t.Errorf("the chart's runbook is %q: %v", name, err)
	}
}
