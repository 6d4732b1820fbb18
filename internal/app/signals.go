package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// errInterrupted ends a command that a signal stopped before it was complete. A server that is
// stopped while it serves is complete.
var errInterrupted = errors.New("interrupted")

// signalled is the cause of a context that a signal has cancelled.
type signalled struct{ signal syscall.Signal }

func (s signalled) Error() string { return s.signal.String() }

// exitCode returns the code that shells report for a process that the signal has killed.
func (s signalled) exitCode() int { return 128 + int(s.signal) }

// cleanups are functions that must run when a process ends immediately.
type cleanups struct {
	mu    sync.Mutex
	next  int
	funcs map[int]func()
}

// add registers f. The returned function removes it.
func (c *cleanups) add(f func()) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.funcs == nil {
		c.funcs = map[int]func(){}
	}
	n := c.next
	c.next++
	c.funcs[n] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.funcs, n)
	}
}

func (c *cleanups) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.funcs {
		f()
	}
}

// sameSignal is the time after the first signal within which others count as the same. A process
// may get each signal twice, as from timeout(1), which signals the process and its group, or from a
// terminal and a wrapper.
const sameSignal = time.Second

// handleSignals returns a context that the first SIGINT, SIGTERM or SIGHUP cancels. A later signal,
// during an orderly stop, runs the cleanups and ends the process. A closed output does not end the
// process: writes to it fail, so that the cleanups still run.
func handleSignals(hurry *cleanups) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signal.Ignore(syscall.SIGPIPE)
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as with nohup
		signal.Notify(received, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case s := <-received:
				number, ok := s.(syscall.Signal)
				if !ok {
					continue
				}
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(signalled{number})
				case time.Since(first) >= sameSignal:
					hurry.run()
					os.Exit(signalled{number}.exitCode())
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(nil)
	}
}

// exitError ends a command with this exit code, after it has printed all there is to say.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode returns the exit code of a command, and prints why it failed.
func exitCode(ctx context.Context, err error, streams Streams) int {
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(streams.Err, "allot: %v\n", err)
	}
	var by signalled
	if errors.Is(err, errInterrupted) && errors.As(context.Cause(ctx), &by) {
		return by.exitCode()
	}
	return 1
}
