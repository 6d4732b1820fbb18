package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Options says where and how the member runs.
type Options struct {
	// Dir holds the member's files and the lock; it is created when missing.
	Dir string
	// UnsafeNoFsync gives up durability for speed. Only for data that may be lost.
	UnsafeNoFsync bool
	// QuotaBytes bounds the database; zero means 4 GiB.
	QuotaBytes int64
	// ReadyWithin is how long the member may take to serve when its log is read; zero means a minute.
	ReadyWithin time.Duration
}

// Server is a running member.
type Server struct {
	dir    string
	member *embed.Etcd
	client *clientv3.Client
	socket socket
	lock   *dirLock
	visits visits
	ending *ending

	failures chan error
	files    string // the member's directory

	closing sync.Once
	closed  error
}

const (
	defaultQuota = 4 << 30
	// A single member elects itself after one election timeout; short ticks
	// keep the start short. Nothing else depends on them without peers.
	tickMillis     = 50
	electionMillis = 500
	// Requests hold at most 1.5 MiB by API convention; transactions carry more than the object.
	maxRequestBytes = 4 << 20
	// A member that has read its log elects itself within seconds, or not at all: its log says that it has peers.
	defaultReadyWithin = time.Minute
	// startGrace is how long a start that is not wanted any more may take to end in order.
	startGrace = 3 * time.Second
	// closeWithin is how long a member may take to close. One that has given up never does.
	closeWithin = 10 * time.Second

	memberName = "member"
)

// Start runs a member on opts.Dir and returns when it serves. It fails with
// [ErrInUse] when another process runs on the directory. Whatever is wrong with the
// files, the error names the directory and what can be done.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("etcd directory: %w", err)
	}
	lock, err := lockDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	sock, err := newSocket(opts.Dir)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s := &Server{dir: opts.Dir, socket: sock, lock: lock, ending: newEnding(), failures: make(chan error, 1)}
	if err := s.run(ctx, opts); err != nil {
		closed := s.Close()
		if ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("etcd in %s: %w", opts.Dir, err), closed)
		}
		return nil, fmt.Errorf("etcd in %s: %w; %s", opts.Dir, err, remedy(err))
	}
	return s, nil
}

func (s *Server) run(ctx context.Context, opts Options) error {
	cfg := memberConfig(opts, s.socket.path, s.ending.logger())
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.StatsHandler(&s.visits)}
	s.files = filepath.Join(cfg.Dir, memberName)
	if err := s.checkFiles(ctx); err != nil {
		return err
	}
	member, err := s.startMember(ctx, cfg)
	if err != nil {
		return err
	}
	s.member = member
	select {
	case <-member.Server.ReadyNotify():
	case <-s.ending.failed:
		return s.ending.err
	case err := <-member.Err():
		return err
	case <-time.After(cmp.Or(opts.ReadyWithin, defaultReadyWithin)):
		return fmt.Errorf("the member does not get ready; its log in %s may be damaged", filepath.Join(s.files, "wal"))
	case <-ctx.Done():
		return fmt.Errorf("waiting for the member: %w", context.Cause(ctx))
	}
	s.client = v3client.New(member.Server)
	go s.watch(member.Err())
	removeBroken(s.files)
	return nil
}

// checkFiles refuses damaged files. Those of a member that was closed are what they were then; those
// of one that was killed are looked through.
func (s *Server) checkFiles(ctx context.Context) error {
	sealed, err := checkSeal(ctx, s.dir, s.files)
	switch {
	case err != nil:
		return err
	case sealed:
		return breakSeal(s.dir)
	}
	return inspect(s.files)
}

// startMember starts a member, which reads all its files first. When it gives up on a goroutine of
// its own, or ctx ends before it returns, it is left behind.
func (s *Server) startMember(ctx context.Context, cfg *embed.Config) (*embed.Etcd, error) {
	type started struct {
		member *embed.Etcd
		err    error
	}
	done := make(chan started, 1)
	go func() {
		var result started
		defer func() {
			if fault := recover(); fault != nil {
				result = started{err: fmt.Errorf("its files are damaged: %v", fault)}
			}
			done <- result
		}()
		result.member, result.err = embed.StartEtcd(cfg)
	}()
	stop := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case result := <-done:
			return result.member, result.err
		case <-s.ending.failed:
			return nil, s.ending.err
		case <-stop:
			stop, late = nil, time.After(startGrace)
		case <-late:
			s.ending.fail(context.Cause(ctx))
		}
	}
}

// watch reports the first failure of a running member.
func (s *Server) watch(errs <-chan error) {
	select {
	case <-s.ending.failed:
		s.failures <- fmt.Errorf("in %s: %w; %s", s.dir, s.ending.err, remedy(s.ending.err))
	case err, ok := <-errs:
		if ok {
			s.failures <- err
		}
	}
}

// removeBroken removes the copies that a member has made of files whose last record was cut short.
// It has started without that, so nothing is missing.
func removeBroken(member string) {
	for _, pattern := range []string{"wal/*.broken", "snap/*.broken"} {
		files, err := filepath.Glob(filepath.Join(escaped(member), pattern))
		if err != nil {
			continue
		}
		for _, file := range files {
			_ = os.Remove(file) // it only takes space, and the next start tries again
		}
	}
}

// escaped returns a path as a pattern that matches it alone.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func memberConfig(opts Options, socketPath string, logger *zap.Logger) *embed.Config {
	// The advertised addresses are names only: a single member never dials them.
	nominal := url.URL{Scheme: "http", Host: "localhost:2380"}
	cfg := embed.NewConfig()
	cfg.Name = "allot"
	cfg.Dir = filepath.Join(opts.Dir, "member-data")
	cfg.ListenPeerUrls = nil
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socketPath}}
	cfg.AdvertisePeerUrls = []url.URL{nominal}
	cfg.AdvertiseClientUrls = []url.URL{nominal}
	cfg.InitialCluster = cfg.Name + "=" + nominal.String()
	cfg.EnableGRPCGateway = false
	cfg.UnsafeNoFsync = opts.UnsafeNoFsync
	cfg.TickMs, cfg.ElectionMs = tickMillis, electionMillis
	cfg.MaxRequestBytes = maxRequestBytes
	cfg.QuotaBackendBytes = opts.QuotaBytes
	if cfg.QuotaBackendBytes == 0 {
		cfg.QuotaBackendBytes = defaultQuota
	}
	// A busy laptop is not worth a warning a request.
	cfg.WarningApplyDuration = 5 * time.Second
	cfg.WarningUnaryRequestDuration = 5 * time.Second
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return cfg
}

// Client talks to the member inside the process. It is closed with the server.
func (s *Server) Client() *clientv3.Client { return s.client }

// NewClient makes another client inside the process, with watches on a stream of their own. Whoever asks for it closes it.
func (s *Server) NewClient() *clientv3.Client { return v3client.New(s.member.Server) }

// Endpoint is the URL of the member's unix socket.
func (s *Server) Endpoint() string { return "unix://" + s.socket.path }

// Alone says whether nobody has connected to the member's socket since it was started, so that all that was written meanwhile came
// through the clients inside the process.
func (s *Server) Alone() bool { return !s.visits.any.Load() }

// Version is the member's release.
func (s *Server) Version() string { return version.Version }

// SizeBytes is how much the member's database takes on disk.
func (s *Server) SizeBytes() int64 {
	return s.member.Server.Backend().Size()
}

// Err reports a failure of the running member.
func (s *Server) Err() <-chan error { return s.failures }

// Close stops the member, flushes its files and gives the directory free.
// It may be called more than once.
func (s *Server) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Server) close() error {
	var errs []error
	if s.client != nil {
		errs = append(errs, ignoreCanceled(s.client.Close()))
	}
	if !s.closeMember() {
		// What is left of it may still write, so the directory stays locked until the process ends.
		return errors.Join(append(errs, s.socket.remove())...)
	}
	if s.client != nil {
		_ = seal(s.dir, s.files) // without it, the next start looks through the files
	}
	errs = append(errs, s.socket.remove(), s.lock.release())
	return errors.Join(errs...)
}

// closeMember closes the member and reports whether that succeeded. One that has given up is not
// asked: it would wait for itself.
func (s *Server) closeMember() bool {
	select {
	case <-s.ending.failed:
		return false
	default:
	}
	if s.member == nil {
		return true
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.member.Close()
	}()
	select {
	case <-done:
		return true
	case <-s.ending.failed:
	case <-time.After(closeWithin):
	}
	return false
}

// ignoreCanceled drops the error that an in-process client reports for its own closing.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
