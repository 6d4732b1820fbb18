package crash

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// fault is the end of some parts at one of their writes. The zero value never strikes.
type fault struct {
	victims []string      // parts that end
	at      int           // the write with which they end: the first one is 1
	made    bool          // the write is made, and its answer is lost
	live    bool          // they do not end: that is all that happens to them
	lag     int           // how late caches are: see lagOf
	down    time.Duration // how long the victims are away
	late    bool          // the play goes on while they are away
	then    *fault        // what strikes those who have come back, if everybody was away
}

func (f fault) String() string {
	what := "lost"
	if f.made {
		what = "made"
	}
	if f.live {
		return fmt.Sprintf("write %d of %s (%s) has no answer, lag %d", f.at, strings.Join(f.victims, ", "), what, f.lag)
	}
	text := fmt.Sprintf("end of %s at write %d (%s), lag %d, down %s", strings.Join(f.victims, ", "), f.at, what, f.lag, f.down)
	if f.late {
		text += ", back after the next act"
	}
	if f.then != nil {
		text += ", then " + f.then.String()
	}
	return text
}

// wire is what all requests of all parts go through.
type wire struct {
	fault fault

	mu     sync.Mutex
	writes []string // of those who may be victims
	struck bool
}

var errNoAnswer = errors.New("no answer")

// hasStruck says whether the victims have ended.
func (w *wire) hasStruck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.struck
}

// link is the way of one part to the server.
type link struct {
	*wire
	part string
	anew bool // the part is an instance that came after the fault
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	fatal, err := l.admit(r)
	if fatal && l.fault.made {
		if resp, err := l.next.RoundTrip(r); err == nil {
			resp.Body.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	resp, err := l.next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		resp.Body = late(resp.Body, lagOf(l.fault.lag, l.part, r.URL.Path))
	}
	return resp, err
}

// admit lets requests of those who live pass, but for the one with which they end.
func (l *link) admit(r *http.Request) (fatal bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	victim := !l.anew && slices.Contains(l.fault.victims, l.part)
	if l.struck && victim && !l.fault.live {
		return false, errNoAnswer
	}
	if l.struck || !victim || r.Method == http.MethodGet {
		return false, nil
	}
	l.writes = append(l.writes, fmt.Sprintf("%s: %s %s", l.part, r.Method, r.URL.Path))
	if len(l.writes) != l.fault.at {
		return false, nil
	}
	l.struck = true
	return true, errNoAnswer
}

// lagOf is how late a part's cache of a kind is. It is another for each, and for each number.
func lagOf(number int, part, path string) time.Duration {
	if number == 0 {
		return 0
	}
	hash := fnv.New32a()
	fmt.Fprint(hash, number, part, path)
	return []time.Duration{0, 0, 20 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond}[hash.Sum32()%5]
}

// late hands on what a stream has a time after it came.
func late(body io.ReadCloser, lag time.Duration) io.ReadCloser {
	if lag == 0 {
		return body
	}
	l := &lateBody{ReadCloser: body, chunks: make(chan chunk, 1000), closed: make(chan struct{})}
	go l.readAhead(lag)
	return l
}

type chunk struct {
	data []byte
	err  error
	due  time.Time
}

type lateBody struct {
	io.ReadCloser
	chunks chan chunk
	closed chan struct{}
	once   sync.Once
	rest   []byte
}

func (l *lateBody) readAhead(lag time.Duration) {
	for {
		buffer := make([]byte, 4<<10)
		n, err := l.ReadCloser.Read(buffer)
		select {
		case l.chunks <- chunk{buffer[:n], err, time.Now().Add(lag)}:
		case <-l.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader. It is not called again after an error.
func (l *lateBody) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		select {
		case c := <-l.chunks:
			time.Sleep(time.Until(c.due))
			if c.err != nil {
				return copy(p, c.data), c.err
			}
			l.rest = c.data
		case <-l.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *lateBody) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.ReadCloser.Close()
}
