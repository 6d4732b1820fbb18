package real

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long a program may take to get ready. A controller whose predecessor was killed
// waits 15 s for the Lease.
const patience = 2 * time.Minute

// process is a program that can be killed and started again.
type process struct {
	name string
	args []string
	env  []string
	log  string
	// ready reports, with an error, why the program does not serve yet.
	ready func() error

	cmd *exec.Cmd
	// ended is closed when cmd has ended.
	ended chan struct{}
}

// start starts the program and waits until it is ready.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(filepath.Join(bin, p.name), p.args...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(p.cmd, p.ended)
	return p.await()
}

func (p *process) await() error {
	end := time.Now().Add(patience)
	for {
		err := p.ready()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not ready within %s: %w", p.name, patience, err)
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %s", p.name, p.cmd.ProcessState)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// kill ends the program without warning.
func (p *process) kill() error {
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return nil
}

// stop ends the program in order, and fails the test if that takes too long.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.cmd == nil {
		return
	}
	if t.Failed() {
		t.Logf("end of the log of %s:\n%s", p.name, p.tail(60))
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Errorf("%s does not end", p.name)
		_ = p.kill()
	}
}

func (p *process) tail(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// restart kills the program and starts it again.
func (p *process) restart() error {
	if err := p.kill(); err != nil {
		return err
	}
	return p.start()
}
