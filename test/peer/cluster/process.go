package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopPatience limits the time of a graceful stop.
const stopPatience = 30 * time.Second

// Process is a command that runs until it is stopped, with its output in a file.
type Process struct {
	Name    string
	logPath string
	cmd     *exec.Cmd
	ended   chan struct{}
	err     error // set before ended is closed
}

// StartProcess starts a binary; its output goes to <name>.log in dir.
func StartProcess(dir, name, binary string, args ...string) (*Process, error) {
	p := &Process{Name: name, logPath: filepath.Join(dir, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Dir = dir
	// The process is killed with the test.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Stop stops the process gracefully, and kills it if that takes too long.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopPatience):
	}
	err := fmt.Errorf("%s did not stop within %s\n%s", p.Name, stopPatience, p.Tail())
	return errors.Join(err, p.Kill())
}

// Kill kills the process.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.Name, err)
	}
	<-p.ended
	return nil
}

// Log returns the output of the process.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail returns the end of the output of the process.
func (p *Process) Tail() string {
	const most = 30
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
	return p.Name + " says:\n" + strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// MostMemory returns the peak memory of the process in bytes, or 0 if it is unknown.
func (p *Process) MostMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// ClockTick is the unit of times in /proc: a hundredth of a second on every architecture of Go.
const ClockTick = 10 * time.Millisecond

// CPU returns the CPU time that the process has used, in user and kernel mode.
func (p *Process) CPU() (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The name of the command is in parentheses, and may contain spaces. The fields after it begin
	// with the third.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s: %d fields after the name", path, len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * ClockTick, errors.Join(err1, err2)
}

// ResetPeak makes MostMemory begin again with the memory that the process uses now.
func (p *Process) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0)
}
