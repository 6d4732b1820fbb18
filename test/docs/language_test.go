package docs

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// finishedPackages are the directories whose comments follow the language rules of this project.
// Packages are added as they are rewritten, and stay.
var finishedPackages = []string{
	"cmd/allot", "internal/app", "internal/cli",
	"internal/testkit/memserver", "internal/testkit/testserver",
	"internal/alloc", "internal/attach", "internal/attach/chartfiles", "internal/client",
	"internal/cluster", "internal/commit", "internal/controller/batch",
	"internal/controller/claim", "internal/controller/daemonset", "internal/controller/deployment",
	"internal/controller/devicetaint", "internal/controller/eviction",
	"internal/controller/expectations", "internal/controller/garbagecollector",
	"internal/controller/history", "internal/controller/job", "internal/controller/kinds",
	"internal/controller/namespace", "internal/controller/controllertest",
	"internal/controller/disruption", "internal/controller/nodetaint",
	"internal/controller/ownership", "internal/controller/podgc", "internal/controller/podgroup",
	"internal/controller/podserver", "internal/controller/poolstatus",
	"internal/controller/reconciler", "internal/controller/replica",
	"internal/controller/replicaset", "internal/controller/statefulset",
	"internal/controller/templatesync", "internal/controller/ttl", "internal/controller/workload",
	"internal/etcd", "internal/features",
	"internal/fleet", "internal/groups", "internal/metrics", "internal/model", "internal/node",
	"internal/pki",
	"internal/sched", "internal/sched/nodefit", "internal/sched/reason", "internal/sched/score",
	"internal/testkit/scenario",
}

// finishedDocuments are the documents that follow the same rules.
var finishedDocuments = []string{
	"docs/adr/0005-a-groups-claim-is-taken-back-for-what-is-more-important.md",
	"docs/adr/0006-attach-speaks-dialects.md", "docs/glossary.md",
	"docs/how-groups-are-scheduled.md",
	"docs/adr/0003-group-claims-are-recorded-at-admission.md", "docs/how-nodes-are-chosen.md",
	"docs/running-allot-up.md",
}

// bannedPhrases are phrases that Go and Kubernetes documentation does not use. A boolean "reports
// whether"; an object is a thing, never "who" or "somebody"; and the plain word is preferred.
var bannedPhrases = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	`says? (whether|that)`, `tells? (whether|that)`, `answers? (true|false|that|whether)`,
	`who`, `whom`, `whoever`, `nobody`, `somebody`, `anybody`, `anew`, `at once`, `beside`,
}, "|") + `)\b`)

func TestBannedPhrasesInComments(t *testing.T) {
	for _, dir := range finishedPackages {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, error %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, found := range commentsWith(t, file, bannedPhrases) {
				t.Error(found)
			}
		}
	}
}

func TestBannedPhrasesInDocuments(t *testing.T) {
	for _, name := range finishedDocuments {
		for n, line := range strings.Split(read(t, filepath.Join(root, name)), "\n") {
			if phrase := bannedPhrases.FindString(line); phrase != "" {
				t.Errorf("%s:%d: %q: %s", name, n+1, phrase, line)
			}
		}
	}
}

// commentsWith returns the position and text of each comment in a Go file that matches the pattern.
func commentsWith(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, group := range parsed.Comments {
		// A phrase may be broken over two lines.
		text := strings.Join(strings.Fields(group.Text()), " ")
		if phrase := pattern.FindString(text); phrase != "" {
			found = append(found, files.Position(group.Pos()).String()+": "+phrase+": "+text)
		}
	}
	return found
}
