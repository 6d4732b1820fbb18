package etcd

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// fatalLogger receives the last log entry of a member that fails, for example because of a full
// disk or a damaged file. The member would then panic or exit, on any goroutine. This hook stops
// the goroutine instead and turns the failure into an error.
type fatalLogger struct {
	once   sync.Once
	failed chan struct{} // closed when err is set
	err    error
}

var _ zapcore.CheckWriteHook = &fatalLogger{}

func newFatalLogger() *fatalLogger { return &fatalLogger{failed: make(chan struct{})} }

// logger returns a logger for a member. It discards all entries below panic level.
func (l *fatalLogger) logger() *zap.Logger {
	return zap.New(fatalCore{}, zap.WithPanicHook(l), zap.WithFatalHook(l))
}

// OnWrite implements zapcore.CheckWriteHook. It does not return, because the member must not
// continue.
func (l *fatalLogger) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	text := entry.Message
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok {
			l.fail(&memberError{text, err})
		}
	}
	l.fail(errors.New(text))
	select {}
}

// fail records the first failure.
func (l *fatalLogger) fail(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.failed)
	})
}

// memberError is a failure with the message of the member.
type memberError struct {
	text string
	err  error
}

func (m *memberError) Error() string { return m.text + ": " + m.err.Error() }
func (m *memberError) Unwrap() error { return m.err }

// fatalCore accepts entries of panic level and above, and writes nothing.
type fatalCore struct{}

var _ zapcore.Core = fatalCore{}

// Enabled implements zapcore.Core.
func (fatalCore) Enabled(level zapcore.Level) bool { return level >= zapcore.PanicLevel }

// With implements zapcore.Core.
func (c fatalCore) With([]zapcore.Field) zapcore.Core { return c }

// Check implements zapcore.Core.
func (c fatalCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core.
func (fatalCore) Write(zapcore.Entry, []zapcore.Field) error { return nil }

// Sync implements zapcore.Core.
func (fatalCore) Sync() error { return nil }

// remedy returns what the user can do about a failure of the member.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space on its disk, and start again"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "give this user the right to read and write it"
	}
	return "restore the directory from a copy, or start with an empty one"
}
