package app

import (
	"context"
	"io"
)

// interruptible is a reader whose Read returns when ctx ends, even if no input arrives.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	type readResult struct {
		n   int
		err error
	}
	buffer := make([]byte, len(p)) // input that arrives after the end is read into this buffer
	done := make(chan readResult, 1)
	go func() {
		n, err := i.Reader.Read(buffer)
		done <- readResult{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, buffer[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}
