package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// poll is how long a command waits between two looks.
const poll = 200 * time.Millisecond

// longestPoll is how long it waits at last. A look is a process, and takes time from what is waited
// for.
const longestPoll = time.Second

// eventually runs a command until it ends well and its output matches:
//
//	eventually [!] 30s 'regexp' kubectl get pods
//
// With ! it waits until the output does not match, however the command ends. The newline at the end
// of an output does not count, so that ^$ is no output at all.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	wantMatch := true
	if len(args) > 0 && args[0] == "!" {
		wantMatch, args = false, args[1:]
	}
	l := newLook(ts, neg, "eventually [!] timeout regexp command [args…]", args)
	end := time.Now().Add(l.time)
	for wait := poll; ; wait = min(wait*5/4, longestPoll) {
		matches, ok := l.look(ts)
		if matches == wantMatch && (ok || !wantMatch) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no match (or no end of it) for %q within %s; last output of %s:\n%s", l.want, l.time, l.command, l.last)
		}
		time.Sleep(wait)
	}
}

// stays runs a command for a time, and its output has to match all along:
//
//	stays 3s 'regexp' kubectl get pods
func stays(ts *testscript.TestScript, neg bool, args []string) {
	l := newLook(ts, neg, "stays time regexp command [args…]", args)
	for end := time.Now().Add(l.time); time.Now().Before(end); time.Sleep(poll) {
		if matches, ok := l.look(ts); !matches || !ok {
			ts.Fatalf("does not match %q any more; output of %s:\n%s", l.want, l.command, l.last)
		}
	}
}

// look is a command whose output is looked at again and again.
type look struct {
	time    time.Duration
	want    *regexp.Regexp
	command []string
	last    string
}

func newLook(ts *testscript.TestScript, neg bool, usage string, args []string) *look {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: %s", usage)
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	return &look{time: d, want: want, command: args[2:]}
}

func (l *look) look(ts *testscript.TestScript) (matches, ok bool) {
	out, err := command(ts, l.command[0], l.command[1:]...).CombinedOutput()
	l.last = strings.TrimSuffix(string(out), "\n")
	return l.want.MatchString(l.last), err == nil
}

// ready waits until the server of the data directory answers: ready 30s
//
// The start is not over then: an interrupt still ends allot up with exit code 130. A script that
// interrupts it waits for the line "serving on" of its output.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready timeout")
	}
	eventually(ts, false, []string{args[0], "^ok$", "kubectl", "get", "--raw", "/readyz"})
}

// repeat writes a manifest many times, with {i} replaced by 0, 1 and so on:
//
//	repeat 300 pod.yaml pods.yaml
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat count manifest result")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	text := ts.ReadFile(args[1])
	var b strings.Builder
	for i := range count {
		b.WriteString(strings.ReplaceAll(text, "{i}", strconv.Itoa(i)) + "---\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b.String()), 0o600))
}

// oneValue reads lines of a word and its value, and fails if a word stands with different values,
// or if there are not as many different words as wanted. Lines without a value are passed over.
//
//	onevalue 300 stdout
func oneValue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: onevalue count file")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	values := map[string]string{}
	for line := range strings.SplitSeq(ts.ReadFile(args[1]), "\n") {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value == "" {
			continue
		}
		if before, ok := values[word]; ok && before != value {
			ts.Fatalf("%s changed from %s to %s", word, before, value)
		}
		values[word] = value
	}
	if len(values) != count {
		ts.Fatalf("%d values, want %d", len(values), count)
	}
}

// later holds that a time is so much after another, at least:
//
//	later 10s 2026-01-02T03:04:05Z 2026-01-02T03:04:15Z
func later(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: later duration time")
	}
	least, err := time.ParseDuration(args[0])
	ts.Check(err)
	before, err := time.Parse(time.RFC3339, args[1])
	ts.Check(err)
	after, err := time.Parse(time.RFC3339, args[2])
	ts.Check(err)
	if took := after.Sub(before); took < least {
		ts.Fatalf("%s is %s after %s, and not %s", args[2], took, args[1], least)
	}
}

// save keeps the output of a command in an environment variable of the script:
//
//	save NAME kubectl get claim -o name
func save(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: save variable command [args…]")
	}
	out, err := command(ts, args[1], args[2:]...).Output()
	if err != nil {
		ts.Fatalf("%s: %v", strings.Join(args[1:], " "), err)
	}
	ts.Setenv(args[0], strings.TrimSpace(string(out)))
}

func command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	path, err := lookPath(ts.Getenv("PATH"), name)
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PATH", "HOME", "ALLOT_DATA_DIR", "NO_COLOR", "TMPDIR", "GOGC", "GOMEMLIMIT"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	return cmd
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not on the script's PATH", name)
}
