package crash

import (
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// outage is what the end of the API server does to all who talk to it. What it has stored stays.
type outage struct {
	away    bool
	life    int // how often it has ended
	streams map[*stream]bool
}

// What a client hears of a server that is not there, and of one that goes away.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)

// endServer cuts off all watches, and all answers that are under way. The caller holds the lock.
func (w *wire) endServer() {
	w.away = true
	w.life++
	for s := range w.streams {
		s.broken = true
		s.ReadCloser.Close()
	}
	clear(w.streams)
}

func (w *wire) serverIsBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = false
}

// receive hands an answer on if the server is still there that gave it. As long as it is there, the
// answer's body can be read.
func (w *wire) receive(resp *http.Response, life int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life != life {
		resp.Body.Close()
		return errReset
	}
	s := &stream{ReadCloser: resp.Body, wire: w}
	w.streams[s] = true
	resp.Body = s
	return nil
}

// stream is the body of an answer.
type stream struct {
	io.ReadCloser
	wire   *wire
	broken bool // guarded by the wire's lock
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		s.wire.mu.Lock()
		defer s.wire.mu.Unlock()
		if s.broken {
			err = errReset
		}
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	delete(s.wire.streams, s)
	return s.ReadCloser.Close()
}
