package kubelet

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// commandTime is how long a command may run that is not stopped.
const commandTime = 2 * time.Minute

// log keeps what a process prints.
type log struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// tail returns the last lines.
func (l *log) tail(n int) string {
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// process is a program that can be killed and started again. It ends with the test.
type process struct {
	name  string
	env   []string
	args  []string
	log   log
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program, and prints the end of its log if the test fails.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{name: name, env: env, args: args}
	p.start(t)
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("%s:\n%s", name, p.log.tail(30))
		}
	})
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.name, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(p.cmd, p.ended)
}

// kill ends the program without warning.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the program in order, or kills it after a while.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.kill()
	}
}

// output runs a command that must succeed, and returns what it prints.
func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(env, "", name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// try runs a command with an input.
func try(env []string, input, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// eventually waits until f returns a text that contains want, and returns the text.
func eventually(t *testing.T, patience time.Duration, want string, f func() string) string {
	t.Helper()
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if last = f(); strings.Contains(last, want) {
			return last
		}
	}
	t.Fatalf("after %s still not %q:\n%s", patience, want, last)
	return ""
}
