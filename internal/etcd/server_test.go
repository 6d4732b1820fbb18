package etcd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func start(t *testing.T, dir string) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestDataSurvivesRestartAndSocketServes(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	if _, err := s.Client().Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second start on the same directory: got %v, want ErrInUse", err)
	}
	if !s.Alone() {
		t.Error("a client inside the process counts as somebody else")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = start(t, dir)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Get(t.Context(), "/k")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "v" {
		t.Fatalf("after restart, through the socket: got %v, want v", got.Kvs)
	}
	if s.Alone() {
		t.Error("whoever comes through the socket was not noticed")
	}
}

func TestInProcessWatch(t *testing.T) {
	s := start(t, t.TempDir())
	events := s.Client().Watch(t.Context(), "/w", clientv3.WithPrefix())
	if _, err := s.Client().Put(t.Context(), "/w/a", "1"); err != nil {
		t.Fatal(err)
	}
	select {
	case resp := <-events:
		if len(resp.Events) != 1 || string(resp.Events[0].Kv.Value) != "1" {
			t.Fatalf("watch delivered %v", resp.Events)
		}
	case <-time.After(time.Minute):
		t.Fatal("watch delivered nothing")
	}
}

func TestLongDataDirectoryGetsAShortSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := newSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.path) > maxSocketPath {
		t.Errorf("socket path %q has %d bytes", s.path, len(s.path))
	}
	if err := s.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("directory of the socket is still there: %v", err)
	}
}
