package etcd

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

// lastWords is a core for a logger that takes what a member says when it gives up, as on a full disk: it panics then or
// ends the process, and tells its logger alone why.
type lastWords struct {
	dir string    // of the member
	out io.Writer // gets what is said before the process ends

	mu   sync.Mutex
	text string // said before the last panic
}

var _ zapcore.Core = &lastWords{}

// Enabled implements zapcore.Core.
func (*lastWords) Enabled(level zapcore.Level) bool { return level >= zapcore.PanicLevel }

// With implements zapcore.Core.
func (w *lastWords) With([]zapcore.Field) zapcore.Core { return w }

// Check implements zapcore.Core.
func (w *lastWords) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !w.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, w)
}

// Write implements zapcore.Core.
func (w *lastWords) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	text := entry.Message
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok {
			text += ": " + err.Error()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = text
	if entry.Level < zapcore.FatalLevel {
		return nil
	}
	_, err := fmt.Fprintln(w.out, "allot: etcd in "+w.dir+": "+text)
	return err
}

// Sync implements zapcore.Core.
func (*lastWords) Sync() error { return nil }

// startMember is start, with an error instead of a panic of which the member has told its logger.
func (w *lastWords) startMember(start func() (*embed.Etcd, error)) (member *embed.Etcd, err error) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.text == "" {
			return
		}
		if recover() != nil {
			err = errors.New(w.text)
		}
	}()
	return start()
}
