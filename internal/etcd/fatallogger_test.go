package etcd

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
)

// A fatal log message of a member becomes its failure, and the goroutine ends.
func TestEnding(t *testing.T) {
	for name, end := range map[string]func(*zap.Logger, ...zap.Field){
		"panic": func(l *zap.Logger, f ...zap.Field) {
			l.Named("raft").With(zap.String("a", "b")).Panic("no WAL can be made", f...)
		},
		"fatal": func(l *zap.Logger, f ...zap.Field) { l.Fatal("no WAL can be made", f...) },
		"sugar": func(l *zap.Logger, f ...zap.Field) { l.Sugar().Panicf("no WAL can be made: %v", f[1].Interface) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newFatalLogger()
			logger := e.logger()
			logger.Error("not the end", zap.Error(errors.New("nothing")))
			select {
			case <-e.failed:
				t.Fatalf("an error is its end: %v", e.err)
			default:
			}
			went := make(chan struct{})
			go func() {
				end(logger, zap.String("dir", "d"), zap.Error(fmt.Errorf("write: %w", syscall.ENOSPC)))
				close(went)
			}()
			<-e.failed
			if got := e.err.Error(); got != "no WAL can be made: write: no space left on device" {
				t.Errorf("its failure is %q", got)
			}
			if name != "sugar" && !strings.Contains(remedy(e.err), "free some space") {
				t.Errorf("the remedy is %q", remedy(e.err))
			}
			select {
			case <-went:
				t.Error("it went on")
			default:
			}
		})
	}
}
