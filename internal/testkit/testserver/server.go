package testserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/apiserver"
)

// Start runs the parts that the tests need in addition to the server, until ctx ends.
type Start func(ctx context.Context, server *apiserver.Server) error

// Main is the body of a TestMain. It runs the tests and returns the exit code.
func Main(m *testing.M, start Start) (code int) {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	dir, err := os.MkdirTemp("", "allot-test-")
	if err != nil {
		return fault(err)
	}
	defer os.RemoveAll(dir)
	server, err := apiserver.Start(context.Background(), apiserver.Config{DataDir: dir, UnsafeNoFsync: true})
	if err != nil {
		return fault(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		stop, done := context.WithTimeout(context.Background(), 30*time.Second)
		defer done()
		if err := server.Stop(stop); err != nil {
			code = fault(err)
		}
	}()
	if err := start(ctx, server); err != nil {
		return fault(err)
	}
	return m.Run()
}

func fault(err error) (code int) {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
