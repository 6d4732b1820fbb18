package etcd

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// ending receives what a member logs when it gives up, as on a full disk or a damaged file. The
// member panics or ends the process then, on whichever goroutine it happens; with this hook the
// goroutine stops for good instead, and the failure is an error like any other.
type ending struct {
	once   sync.Once
	failed chan struct{} // closed once err is set
	err    error
}

var _ zapcore.CheckWriteHook = &ending{}

func newEnding() *ending { return &ending{failed: make(chan struct{})} }

// logger returns a logger for a member: it discards everything but the member's end.
func (e *ending) logger() *zap.Logger {
	return zap.New(endCore{}, zap.WithPanicHook(e), zap.WithFatalHook(e))
}

// OnWrite implements zapcore.CheckWriteHook. It does not return: what the member would do next must
// not be done.
func (e *ending) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	text := entry.Message
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok {
			e.fail(&memberError{text, err})
		}
	}
	e.fail(errors.New(text))
	select {}
}

// fail records the first failure.
func (e *ending) fail(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.failed)
	})
}

// memberError is a failure with the member's words for it.
type memberError struct {
	text string
	err  error
}

func (m *memberError) Error() string { return m.text + ": " + m.err.Error() }
func (m *memberError) Unwrap() error { return m.err }

// endCore accepts the entries with which a member ends, and writes nothing.
type endCore struct{}

var _ zapcore.Core = endCore{}

// Enabled implements zapcore.Core.
func (endCore) Enabled(level zapcore.Level) bool { return level >= zapcore.PanicLevel }

// With implements zapcore.Core.
func (c endCore) With([]zapcore.Field) zapcore.Core { return c }

// Check implements zapcore.Core.
func (c endCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core.
func (endCore) Write(zapcore.Entry, []zapcore.Field) error { return nil }

// Sync implements zapcore.Core.
func (endCore) Sync() error { return nil }

// remedy returns what a person can do about a failure of the member.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space on its disk, and start again"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "give this user the right to read and write it"
	}
	return "restore the directory from a copy, or start with an empty one"
}
