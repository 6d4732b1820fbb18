// Package docs checks that what the documents name is there.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// documents are the repository's own.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 8 {
		t.Fatalf("found only %d documents: %v", len(files), files)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if target := filepath.Join(filepath.Dir(file), m[1]); !exists(target) {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
}

// path finds what looks like a path of this repository between backticks.
var path = regexp.MustCompile("`((?:api|cmd|docs|examples|internal|test|tools)/[^` ]*)`")

func TestNamedPathsExist(t *testing.T) {
	for _, file := range documents(t) {
		for _, m := range path.FindAllStringSubmatch(read(t, file), -1) {
			name := strings.NewReplacer("…", "*").Replace(m[1])
			found, err := filepath.Glob(filepath.Join(root, name))
			if err != nil {
				t.Fatalf("%s: %s: %v", file, m[1], err)
			}
			if len(found) == 0 {
				t.Errorf("%s names %s, which is not there", file, m[1])
			}
		}
	}
}

// row is a line of docs/requirements.md: R-number, what, where, test.
var row = regexp.MustCompile(`(?m)^\| (R[0-9]+)\b[^|]*\|[^|]+\|([^|]+)\|([^|]+)\|$`)

func TestEachRequirementNamesPackageAndTest(t *testing.T) {
	rows := row.FindAllStringSubmatch(read(t, filepath.Join(root, "docs/requirements.md")), -1)
	if len(rows) < 20 {
		t.Fatalf("found only %d rows", len(rows))
	}
	for _, r := range rows {
		if !strings.Contains(r[2], "`") || !strings.Contains(r[3], "`") {
			t.Errorf("%s names no package or no test", r[1])
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// instruction is the first word of a line of the Containerfile.
var instruction = regexp.MustCompile(`(?m)^[A-Z]+`)

// The image is made of what is there: nothing is run or fetched for it, and it has no base image.
func TestImageNeedsNoNetwork(t *testing.T) {
	text := read(t, filepath.Join(root, "Containerfile"))
	if !strings.Contains(text, "\nFROM scratch\n") || !strings.Contains(text, "\nCOPY dist/allot /allot\n") {
		t.Error("the image is not the binary alone")
	}
	for _, word := range instruction.FindAllString(text, -1) {
		switch word {
		case "FROM", "COPY", "USER", "ENTRYPOINT":
		default:
			t.Errorf("%s is in the Containerfile", word)
		}
	}
}
