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

// Options configures the member.
type Options struct {
	// Dir holds the member's files and the lock. It is created if it is missing.
	Dir string
	// UnsafeNoFsync trades durability for speed, for data that may be lost.
	UnsafeNoFsync bool
	// QuotaBytes limits the size of the database; zero means 4 GiB.
	QuotaBytes int64
	// ReadyWithin is the time limit for the member to serve after it has read its log; zero means a
	// minute.
	ReadyWithin time.Duration
}

// Server is a running member.
type Server struct {
	dir         string
	member      *embed.Etcd
	client      *clientv3.Client
	socket      socket
	lock        *dirLock
	connections connectionWatcher
	fatal       *fatalLogger

	failures chan error
	files    string // directory of the member

	closing sync.Once
	closed  error
}

const (
	defaultQuota = 4 << 30
	// A single member elects itself after one election timeout. Short ticks make the start short
	// and affect nothing else without peers.
	tickMillis     = 50
	electionMillis = 500
	// A transaction may record the placement of 10,000 pods with 500 new claims (docs/adr/0009), and
	// then has a condition for each of them. All other transactions have one object, of 1.5 MiB at
	// most.
	maxRequestBytes = 16 << 20
	maxTxnOps       = 10_501
	// After reading its log, a member elects itself within seconds, or never if its log lists
	// peers.
	defaultReadyWithin = time.Minute
	// startGrace is the time for a canceled start to end in order.
	startGrace = 3 * time.Second
	// closeWithin is the time limit for a member to close. A failed member never closes.
	closeWithin = 10 * time.Second

	memberName = "member"
)

// Start runs a member on opts.Dir and returns when it serves. It returns [ErrInUse] if another
// process uses the directory. If the files are damaged, the error names the directory and the
// remedy.
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
	s := &Server{dir: opts.Dir, socket: sock, lock: lock, fatal: newFatalLogger(), failures: make(chan error, 1)}
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
	cfg := memberConfig(opts, s.socket.path, s.fatal.logger())
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.StatsHandler(&s.connections)}
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
	case <-s.fatal.failed:
		return s.fatal.err
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

// checkFiles returns an error for damaged files. The files of a stopped member must match the seal;
// those of a killed one are inspected.
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

// startMember starts a member, which first reads all its files. If the member fails on another
// goroutine, or ctx ends before the start returns, it is abandoned.
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
		case <-s.fatal.failed:
			return nil, s.fatal.err
		case <-stop:
			stop, late = nil, time.After(startGrace)
		case <-late:
			s.fatal.fail(context.Cause(ctx))
		}
	}
}

// watch reports the first failure of a running member.
func (s *Server) watch(errs <-chan error) {
	select {
	case <-s.fatal.failed:
		s.failures <- fmt.Errorf("in %s: %w; %s", s.dir, s.fatal.err, remedy(s.fatal.err))
	case err, ok := <-errs:
		if ok {
			s.failures <- err
		}
	}
}

// removeBroken removes the copies that a member has created of files with a truncated last record.
// The member has started without them.
func removeBroken(member string) {
	for _, pattern := range []string{"wal/*.broken", "snap/*.broken"} {
		files, err := filepath.Glob(filepath.Join(escaped(member), pattern))
		if err != nil {
			continue
		}
		for _, file := range files {
			_ = os.Remove(file) // harmless; the next start tries again
		}
	}
}

// escaped returns a glob pattern that matches only the path.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func memberConfig(opts Options, socketPath string, logger *zap.Logger) *embed.Config {
	// The advertised addresses are never dialed by a single member.
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
	cfg.MaxRequestBytes, cfg.MaxTxnOps = maxRequestBytes, maxTxnOps
	cfg.QuotaBackendBytes = opts.QuotaBytes
	if cfg.QuotaBackendBytes == 0 {
		cfg.QuotaBackendBytes = defaultQuota
	}
	// Avoids a warning per request on a busy machine.
	cfg.WarningApplyDuration = 5 * time.Second
	cfg.WarningUnaryRequestDuration = 5 * time.Second
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return cfg
}

// Client returns the client inside the process. It is closed with the server.
func (s *Server) Client() *clientv3.Client { return s.client }

// NewClient returns another client inside the process, with its own watch stream. The caller must
// close it.
func (s *Server) NewClient() *clientv3.Client { return v3client.New(s.member.Server) }

// Endpoint returns the URL of the member's unix socket.
func (s *Server) Endpoint() string { return "unix://" + s.socket.path }

// Alone reports whether no client has connected to the member's socket since the start, so that all
// writes came through the clients inside the process.
func (s *Server) Alone() bool { return !s.connections.connected.Load() }

// Version returns the version of the member.
func (s *Server) Version() string { return version.Version }

// SizeBytes returns the size of the database on disk.
func (s *Server) SizeBytes() int64 {
	return s.member.Server.Backend().Size()
}

// Err returns a channel with the failure of the running member.
func (s *Server) Err() <-chan error { return s.failures }

// Close stops the member, flushes its files and unlocks the directory. It may be called more than
// once.
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
		// Remaining goroutines may still write, so that the directory stays locked until the
		// process ends.
		return errors.Join(append(errs, s.socket.remove())...)
	}
	if s.client != nil {
		_ = seal(s.dir, s.files) // without a seal, the next start inspects the files
	}
	errs = append(errs, s.socket.remove(), s.lock.release())
	return errors.Join(errs...)
}

// closeMember closes the member and reports whether that succeeded. A failed member is not closed,
// because it would wait for itself.
func (s *Server) closeMember() bool {
	select {
	case <-s.fatal.failed:
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
	case <-s.fatal.failed:
	case <-time.After(closeWithin):
	}
	return false
}

// ignoreCanceled drops the error that an in-process client returns when it is closed.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
