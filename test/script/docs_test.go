package script

import (
	"os"
	"strings"
	"testing"
)

// Each command of a document runs in one of its scripts. Scripts quote otherwise than shells do, so
// quotes do not count.
func TestDocumentsAreRun(t *testing.T) {
	for document, scripts := range map[string][]string{
		"the-life-of-a-claim.md": {"claim_life.txt"},
		"runbook.md":             {"lost_devices.txt", "restart.txt"},
	} {
		text, err := os.ReadFile("../../docs/" + document)
		if err != nil {
			t.Fatal(err)
		}
		var run strings.Builder
		for _, script := range scripts {
			content, err := os.ReadFile("testdata/" + script)
			if err != nil {
				t.Fatal(err)
			}
			run.Write(content)
		}
		plain := func(s string) string { return strings.NewReplacer("'", "", "\n", " ").Replace(s) }
		commands := commandsOf(string(text))
		if len(commands) == 0 {
			t.Errorf("%s has no commands", document)
		}
		for _, command := range commands {
			if !strings.Contains(plain(run.String()), plain(command+"\n")) {
				t.Errorf("%v do not run this command of %s: %s", scripts, document, command)
			}
		}
	}
}

// commandsOf returns the lines of a document's blocks of shell commands, and those that begin with
// kubectl.
func commandsOf(document string) []string {
	var commands []string
	shell := false
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			shell = line == "```sh"
		case line != "" && (shell || strings.HasPrefix(line, "kubectl ")):
			commands = append(commands, line)
		}
	}
	return commands
}
