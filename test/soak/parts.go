package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startPatience limits the time until a process is ready, including with the race detector.
	startPatience = 3 * time.Minute
	// stopPatience limits the time of a graceful stop.
	stopPatience = time.Minute
)

// parts are the processes.
type parts struct {
	dir    string
	list   []*part
	mu     sync.Mutex
	failed []error
}

// part is a process that is restarted whenever it ends, until it is stopped.
type part struct {
	name   string
	binary string
	args   []string
	env    []string
	log    string
	elects bool // may end because it lost its lease

	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{} // of cmd
	killed  bool          // cmd was killed
	stopped bool
	starts  int
}

func (p *parts) data() string       { return filepath.Join(p.dir, "data") }
func (p *parts) kubeconfig() string { return filepath.Join(p.data(), "admin.kubeconfig") }

// startParts starts the processes and waits until the API server has written the kubeconfigs.
func startParts(ctx context.Context, o options) (*parts, error) {
	p := &parts{dir: o.dir}
	port, err := freePort(ctx)
	if err != nil {
		return p, err
	}
	fleet := []string{"--nodes", strconv.Itoa(o.nodes), "--devices-per-node", strconv.Itoa(o.devices)}
	listen := []string{"--data-dir", p.data(), "--listen", "127.0.0.1:" + strconv.Itoa(port)}
	if o.up {
		p.add(o, "up", append(listen, fleet...)...)
		return p, p.start(ctx)
	}
	p.add(o, "apiserver", listen...)
	if err := p.start(ctx); err != nil {
		return p, err
	}
	lease := []string{
		"--leader-elect-lease-duration=3s",
		"--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=500ms",
	}
	for _, name := range []string{"controller-manager", "scheduler"} {
		kubeconfig := []string{"--kubeconfig", filepath.Join(p.data(), name+".kubeconfig")}
		p.add(o, name, append(kubeconfig, lease...)...)
		p.add(o, name, append(kubeconfig, lease...)...)
	}
	p.add(o, "node", append([]string{"--kubeconfig", filepath.Join(p.data(), "node.kubeconfig")}, fleet...)...)
	return p, p.start(ctx)
}

func (p *parts) add(o options, command string, flags ...string) {
	part := &part{
		name:   command,
		binary: o.binary,
		args:   append([]string{command}, flags...),
		env:    os.Environ(),
		elects: command == "controller-manager" || command == "scheduler",
	}
	same := 0
	for _, other := range p.list {
		if other.args[0] == command {
			same++
		}
	}
	if same > 0 {
		part.name = fmt.Sprintf("%s-%d", command, same+1)
	}
	if o.memory != "" {
		part.env = append(part.env, "GOMEMLIMIT="+o.memory)
	}
	part.env = append(part.env, "GORACE=halt_on_error=0")
	part.log = filepath.Join(o.dir, part.name+".log")
	p.list = append(p.list, part)
}

// start starts the processes that do not run yet, and waits until the administrator's kubeconfig
// exists.
func (p *parts) start(ctx context.Context) error {
	for _, part := range p.list {
		if part.starts == 0 {
			if err := part.start(); err != nil {
				return err
			}
			go p.keep(ctx, part)
		}
	}
	return until(ctx, startPatience, func() error {
		_, err := os.Stat(p.kubeconfig())
		return err
	})
}

func (p *part) start() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // the process has its own handle
	cmd := exec.Command(p.binary, p.args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd, p.ended, p.killed = cmd, make(chan struct{}), false
	p.starts++
	return nil
}

// keep restarts a process when it ends.
func (p *parts) keep(ctx context.Context, part *part) {
	for {
		err := part.cmd.Wait()
		part.mu.Lock()
		close(part.ended)
		expected := part.killed || part.stopped || part.elects
		stopped := part.stopped
		part.mu.Unlock()
		if !expected {
			p.fail(fmt.Errorf("%s ended by itself: %w", part.name, err))
		}
		if stopped || ctx.Err() != nil {
			return
		}
		if err := part.start(); err != nil {
			p.fail(err)
			return
		}
	}
}

func (p *parts) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, err)
}

// kill kills the process.
func (p *part) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	return p.cmd.Process.Kill()
}

// startKills kills processes at random times. The returned function stops that, and returns the
// number of kills.
func (p *parts) startKills(ctx context.Context, o options) func() int {
	if o.kills == 0 || o.up {
		return func() int { return 0 }
	}
	choice := rand.New(rand.NewPCG(o.seed, 1))
	ctx, cancel := context.WithCancel(ctx)
	killed := make(chan int, 1)
	go func() {
		count := 0
		defer func() { killed <- count }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(choice.ExpFloat64() * float64(o.kills))):
			}
			part := p.list[choice.IntN(len(p.list))]
			if err := part.kill(); err == nil {
				count++
			}
		}
	}()
	return func() int {
		cancel()
		return <-killed
	}
}

// waitAll waits until no process was started within the last second, so that the kills are over.
func (p *parts) waitAll(ctx context.Context) error {
	api, err := connect(p.kubeconfig())
	if err != nil {
		return err
	}
	return until(ctx, startPatience, func() error { return api.alive(ctx) })
}

// stop stops the processes, the last one first.
func (p *parts) stop() error {
	var errs []error
	for _, part := range slices.Backward(p.list) {

		part.mu.Lock()
		part.stopped = true
		ended := part.ended
		if part.cmd != nil && part.cmd.Process != nil {
			_ = part.cmd.Process.Signal(syscall.SIGTERM)
		}
		part.mu.Unlock()
		if ended == nil {
			continue
		}
		select {
		case <-ended:
		case <-time.After(stopPatience):
			errs = append(errs, fmt.Errorf("%s did not stop within %s", part.name, stopPatience), part.kill())
			<-ended
		}
	}
	return errors.Join(errs...)
}

// faults returns the errors in the logs that must not occur, and processes that ended unexpectedly.
func (p *parts) faults() error {
	p.mu.Lock()
	errs := p.failed
	p.mu.Unlock()
	for _, part := range p.list {
		text, err := os.ReadFile(part.log)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, sign := range []string{"WARNING: DATA RACE", "panic:", "fatal error:", "Observed a panic"} {
			if n := strings.Count(string(text), sign); n > 0 {
				errs = append(errs, fmt.Errorf("%s: %d times %q", part.log, n, sign))
			}
		}
	}
	return errors.Join(errs...)
}

// startSampling samples the memory of all processes. The returned function prints the samples.
func (p *parts) startSampling(ctx context.Context) func() string {
	var mu sync.Mutex
	samples := map[string][]int64{}
	sample := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, part := range p.list {
			samples[part.name] = append(samples[part.name], part.resident()>>20)
		}
	}
	go func() {
		for ; ctx.Err() == nil; time.Sleep(time.Second) {
			sample()
		}
	}()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		var out []string
		for _, part := range p.list {
			out = append(out, part.name+" "+tenths(samples[part.name]))
		}
		return strings.Join(out, "; ")
	}
}

// tenths returns the maximum of the samples in each tenth of the time.
func tenths(samples []int64) string {
	var out []string
	const n = 10
	for i := range n {
		most := int64(0)
		for _, s := range samples[i*len(samples)/n : (i+1)*len(samples)/n] {
			most = max(most, s)
		}
		out = append(out, strconv.FormatInt(most, 10))
	}
	return strings.Join(out, " ")
}

// resident returns the resident memory in bytes.
func (p *part) resident() int64 {
	p.mu.Lock()
	pid := p.cmd.Process.Pid
	p.mu.Unlock()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// until retries try until it returns nil, for at most limit.
func until(ctx context.Context, limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func freePort(ctx context.Context) (int, error) {
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
