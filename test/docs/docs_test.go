// Package docs checks that what the documents name is there.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// cells returns the cells of each row of the tables of a document, without heads. A head is what is
// above a line of dashes.
func cells(text string) [][]string {
	var out [][]string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") ||
			i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| ---") {
			continue
		}
		row := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		out = append(out, row)
	}
	return out
}

// notYet begins what a row says of a requirement that is not met.
const notYet = "not yet"

// Every requirement and every finding has a row, with a package and a test, or it says that it is not met.
func TestEachRequirementHasARow(t *testing.T) {
	seen := map[string]int{}
	for _, row := range cells(read(t, filepath.Join(root, "docs/requirements.md"))) {
		if len(row) != 4 {
			t.Errorf("this row has %d cells, not 4: %v", len(row), row)
			continue
		}
		seen[row[0]]++
		if strings.HasPrefix(row[2], notYet) {
			continue
		}
		if !strings.Contains(row[2], "`") || !strings.Contains(row[3], "`") {
			t.Errorf("%s names no package or no test", row[0])
		}
	}
	for letter, last := range map[string]int{"R": 50, "P": 36} {
		for n := 1; n <= last; n++ {
			if name := letter + strconv.Itoa(n); seen[name] != 1 {
				t.Errorf("%s has %d rows", name, seen[name])
			}
		}
	}
}

// Every difference has a reason, and a test that is there.
func TestEachDifferenceHasAReasonAndATest(t *testing.T) {
	rows := cells(read(t, filepath.Join(root, "DIFFERENCES.md")))
	if len(rows) < 100 {
		t.Fatalf("found only %d rows", len(rows))
	}
	for _, row := range rows {
		if len(row) != 5 {
			t.Errorf("this row has %d cells, not 5: %v", len(row), row)
			continue
		}
		if len(row[3]) < 10 {
			t.Errorf("this row has no reason: %v", row)
		}
		if !path.MatchString(row[4]) {
			t.Errorf("this row names no test: %v", row)
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
