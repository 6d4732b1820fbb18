package app

import (
	"context"
	"io"
)

// interruptible reads until ctx ends, also while nothing comes.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	buffer := make([]byte, len(p)) // what comes after the end is read into it
	done := make(chan read, 1)
	go func() {
		n, err := i.Reader.Read(buffer)
		done <- read{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, buffer[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}
