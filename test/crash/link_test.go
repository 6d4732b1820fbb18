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

// fault is the end of some parts at one of their writes, or of the API server. The zero value never
// strikes.
type fault struct {
	victims []string      // parts that end, or the API server
	at      int           // the write with which they end: the first one is 1
	only    string        // if set, only writes to paths with this end are counted
	writes  int           // how many writes of a placement that is recorded are made when the API server ends
	made    bool          // the write is made, and its answer is lost
	live    bool          // they do not end: that is all that happens to them
	lag     int           // how late caches are: see lagOf
	down    time.Duration // how long the victims are away
	late    bool          // the play goes on while they are away
	forgets bool          // the API server that comes back cannot tell what happened before
	then    *fault        // what strikes those who have come back, if everybody was away
}

// ofServer says whether it is the API server that ends.
func (f fault) ofServer() bool { return slices.Contains(f.victims, apiServer) }

func (f fault) String() string {
	what := "lost"
	if f.made {
		what = "made"
	}
	if f.live {
		return fmt.Sprintf("write %d of %s (%s) has no answer, lag %d", f.at, strings.Join(f.victims, ", "), what, f.lag)
	}
	text := fmt.Sprintf("end of %s at write %d%s (%s), lag %d, down %s", strings.Join(f.victims, ", "), f.at, f.only,
		what, f.lag, f.down)
	if f.ofServer() && f.made {
		text += fmt.Sprintf(", after %d of its writes if it is a placement", f.writes)
	}
	if f.late {
		text += ", back after the next act"
	}
	if f.forgets {
		text += ", with nothing in memory"
	}
	if f.then != nil {
		text += ", then " + f.then.String()
	}
	return text
}

// wire is what all requests of all parts go through.
type wire struct {
	mu     sync.Mutex
	fault  fault
	struck bool     // it has
	writes []string // of the parts that the fault may strike
	tried  map[string]bool
	ends   int            // how many faults have struck
	ended  map[string]int // with which of them a part ended
	// interrupt has the API server end within the next placement, after so many of its writes.
	interrupt func(writes int)
	outage
}

func newWire(f fault, interrupt func(writes int)) *wire {
	return &wire{
		fault:     f,
		tried:     map[string]bool{},
		ended:     map[string]int{},
		interrupt: interrupt,
		outage:    outage{streams: map[*stream]bool{}},
	}
}

var errNoAnswer = errors.New("no answer")

// hasStruck says whether the fault has struck.
func (w *wire) hasStruck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.struck
}

// rearm has another fault strike.
func (w *wire) rearm(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.struck, w.writes = f, false, nil
}

// link is the way of one instance of a part to the server.
type link struct {
	*wire
	part string
	born int // how many faults had struck when it came
	lag  int
	next http.RoundTripper
}

func (w *wire) link(part string, next http.RoundTripper) *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &link{wire: w, part: part, born: w.ends, lag: w.fault.lag, next: next}
}

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	life, made, err := l.admit(r)
	if made {
		if resp, err := l.next.RoundTrip(r); err == nil {
			resp.Body.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		err = l.receive(resp, life)
	}
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Get("watch") != "" {
		resp.Body = late(resp.Body, lagOf(l.lag, l.part, r.URL.Path))
	}
	return resp, nil
}

// admit lets requests of those who live pass, if the server does, but for the one with which they
// end. It says in which life of the server that is, and whether a refused request is carried out
// all the same.
func (l *link) admit(r *http.Request) (life int, made bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return 0, false, errRefused
	}
	if l.ended[l.part] > l.born {
		return 0, false, errNoAnswer
	}
	victim := l.fault.ofServer() || slices.Contains(l.fault.victims, l.part)
	if l.struck || !victim || r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, l.fault.only) || l.again(r) {
		return l.life, false, nil
	}
	l.writes = append(l.writes, fmt.Sprintf("%s: %s %s", l.part, r.Method, r.URL.Path))
	if len(l.writes) != l.fault.at {
		return l.life, false, nil
	}
	l.strike()
	if l.fault.ofServer() && l.fault.made && strings.HasSuffix(r.URL.Path, "/placements") {
		l.interrupt(l.fault.writes)
	}
	return 0, l.fault.made, errNoAnswer
}

// again says whether somebody tries to write what he has tried to write before: it is refused as
// often as that, as what it is based on is older than what is there. It is no write of its own. The
// caller holds the lock.
func (w *wire) again(r *http.Request) bool {
	if r.Method != http.MethodPut || r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return false
	}
	key := r.URL.Path + " " + string(text)
	before := w.tried[key]
	w.tried[key] = true
	return before
}

// strike ends the victims. The caller holds the lock.
func (w *wire) strike() {
	w.struck = true
	w.ends++
	switch {
	case w.fault.ofServer():
		w.endServer()
	case !w.fault.live:
		for _, part := range w.fault.victims {
			w.ended[part] = w.ends
		}
	}
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
