package script

import (
	"os"
	"strings"
	"testing"
)

// Each command of a document runs in its script. Scripts quote otherwise than shells do, so quotes
// do not count.
func TestDocumentsAreRun(t *testing.T) {
	for document, script := range map[string]string{
		"the-life-of-a-claim.md": "claim_life.txt",
	} {
		text, err := os.ReadFile("../../docs/" + document)
		if err != nil {
			t.Fatal(err)
		}
		run, err := os.ReadFile("testdata/" + script)
		if err != nil {
			t.Fatal(err)
		}
		plain := func(s string) string { return strings.NewReplacer("'", "", "\n", " ").Replace(s) }
		commands := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "kubectl ") {
				continue
			}
			commands++
			if !strings.Contains(plain(string(run)), plain(line)) {
				t.Errorf("%s does not run this command of %s: %s", script, document, line)
			}
		}
		if commands == 0 {
			t.Errorf("%s has no commands", document)
		}
	}
}
