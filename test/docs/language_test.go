package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// finishedDocuments are the documents that follow the same rules.
var finishedDocuments = []string{
	"ARCHITECTURE.md",
	"CONTRIBUTING.md",
	"README.md",
	"docs/adr/0001-no-record-of-a-gangs-placement.md",
	"docs/adr/0002-protobuf-by-reflection.md",
	"docs/adr/0003-group-claims-are-recorded-at-admission.md",
	"docs/adr/0004-the-api-server-gives-no-device-to-two-claims.md",
	"docs/adr/0005-a-groups-claim-is-taken-back-for-what-is-more-important.md",
	"docs/adr/0006-attach-speaks-dialects.md",
	"docs/adr/0007-a-claim-is-not-freed-under-a-bind.md",
	"docs/adr/0008-one-lease-for-a-fleet.md",
	"docs/dashboard.md",
	"docs/drivers.md",
	"docs/explain.md",
	"docs/field-cases.md",
	"docs/glossary.md",
	"docs/how-groups-are-scheduled.md",
	"docs/how-nodes-are-chosen.md",
	"docs/running-allot-up.md",
}

// bannedPhrases are phrases that Go and Kubernetes documentation does not use. A boolean "reports
// whether"; an object is a thing, never "who" or "somebody"; and the plain word is preferred.
var bannedPhrases = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	`answers? (true|false|that|whether)`,
	`anew`,
	`anybody`,
	`at once`,
	`beside`,
	`nobody`,
	`says? (that|whether)`,
	`somebody`,
	`tells? (that|whether)`,
	`who`,
	`whoever`,
	`whom`,
}, "|") + `)\b`)

func TestBannedPhrasesInComments(t *testing.T) {
	for _, dir := range packageDirs(t) {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
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

// packageDirs returns the directories of all packages of the repository, in all of its modules.
func packageDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			return nil
		}
		if path != root && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
			return fs.SkipDir
		}
		dir, err := filepath.Rel(root, path)
		dirs = append(dirs, filepath.ToSlash(dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
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
