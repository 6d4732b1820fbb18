package etcd

import (
	"bytes"
	"errors"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestLastWords(t *testing.T) {
	var out bytes.Buffer
	words := &lastWords{dir: "/data", out: &out}
	logger := zap.New(words, zap.WithFatalHook(zapcore.WriteThenPanic))
	full := errors.New("no space left on device")

	logger.Error("not the end", zap.Error(full))
	_, err := words.startMember(func() (*embed.Etcd, error) {
		logger.Panic("no WAL can be made", zap.String("dir", "d"), zap.Error(full))
		return nil, nil
	})
	if err == nil || err.Error() != "no WAL can be made: no space left on device" {
		t.Errorf("a panic while starting is %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}

	func() {
		defer func() { _ = recover() }()
		logger.With(zap.String("a", "b")).Fatal("the WAL cannot be written", zap.Error(full))
	}()
	if got := out.String(); got != "allot: etcd in /data: the WAL cannot be written: no space left on device\n" {
		t.Errorf("printed %q", got)
	}
}

// A panic of which nobody was told is a fault of the program.
func TestOtherPanicsPass(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a panic was taken for an error")
		}
	}()
	_, _ = (&lastWords{}).startMember(func() (*embed.Etcd, error) { panic("fault") })
}
