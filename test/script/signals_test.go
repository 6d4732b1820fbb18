package script

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// signals runs a command, waits until its output has a text, sends it a signal some times in quick
// succession, and holds that it ends with one of the codes and leaves no ephemeral folder:
//
//	signals times INT|TERM|HUP code[,code] text command [args…]
//
// The text allot- waits for the folder instead, and an empty text for a moment: on a busy machine the
// process may not handle signals yet, and then ends by the signal, with the code that a shell reports.
// What the command has written can be asked for with stdout and stderr.
func signals(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: signals times signal codes text command [args…]")
	}
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	number, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[args[1]]
	if !ok {
		ts.Fatalf("no signal %q", args[1])
	}
	out, errs := &sharedBuffer{}, &sharedBuffer{}
	cmd := command(ts, args[4], args[5:]...)
	cmd.Stdout, cmd.Stderr = out, errs
	input, err := cmd.StdinPipe() // open, and silent
	ts.Check(err)
	defer input.Close()
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state says how
		close(ended)
	}()
	await(ts, args[3], out, ended)
	for range times {
		ts.Check(cmd.Process.Signal(number))
		time.Sleep(20 * time.Millisecond)
		if isClosed(ended) {
			break
		}
	}
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		_ = cmd.Process.Kill()
		ts.Fatalf("it does not end; output:\n%s%s", out, errs)
	}
	_, _ = ts.Stdout().Write([]byte(out.String()))
	_, _ = ts.Stderr().Write([]byte(errs.String()))
	code := strconv.Itoa(cmd.ProcessState.ExitCode())
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && args[3] == "" {
		code = strconv.Itoa(128 + int(status.Signal()))
	}
	if !slices.Contains(strings.Split(args[2], ","), code) {
		ts.Fatalf("the exit code is %s, want %s; output:\n%s%s", code, args[2], out, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), "allot-*")); len(left) > 0 {
		ts.Fatalf("it leaves %v; output:\n%s%s", left, out, errs)
	}
}

// await waits until the output has a text.
func await(ts *testscript.TestScript, text string, out *sharedBuffer, ended <-chan struct{}) {
	if text == "" {
		time.Sleep(time.Second)
		return
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text == "allot-" {
			if made, _ := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), "allot-*", "allot.log")); len(made) > 0 {
				return
			}
		} else if strings.Contains(out.String(), text) {
			return
		}
		if isClosed(ended) || time.Now().After(end) {
			ts.Fatalf("no %q in the output:\n%s", text, out)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sharedBuffer is read while it is written.
type sharedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
