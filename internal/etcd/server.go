package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
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
	// ReadyWithin is how long the member may take to serve when its log is read; zero means two minutes.
	ReadyWithin time.Duration
}

// Server is a running member.
type Server struct {
	member *embed.Etcd
	client *clientv3.Client
	socket socket
	lock   *dirLock
	visits visits

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
	defaultReadyWithin = 2 * time.Minute
)

// Start runs a member on opts.Dir and returns when it serves. It fails with
// [ErrInUse] when another process runs on the directory.
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
	s := &Server{socket: sock, lock: lock}
	if err := s.run(ctx, opts); err != nil {
		s.Close()
		return nil, fmt.Errorf("etcd in %s: %w", opts.Dir, err)
	}
	return s, nil
}

func (s *Server) run(ctx context.Context, opts Options) error {
	words := &lastWords{dir: opts.Dir, out: os.Stderr}
	cfg := memberConfig(opts, s.socket.path, words)
	if err := checkLog(filepath.Join(cfg.Dir, "member", "wal")); err != nil {
		return err
	}
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.StatsHandler(&s.visits)}
	member, err := words.startMember(func() (*embed.Etcd, error) { return embed.StartEtcd(cfg) })
	if err != nil {
		return err
	}
	s.member = member
	select {
	case <-member.Server.ReadyNotify():
	case err := <-member.Err():
		return err
	case <-time.After(cmp.Or(opts.ReadyWithin, defaultReadyWithin)):
		return fmt.Errorf("the member does not get ready; its log in %s may be damaged: restore the directory from a copy, or start with an empty one",
			filepath.Join(cfg.Dir, "member", "wal"))
	case <-ctx.Done():
		return fmt.Errorf("waiting for the member: %w", context.Cause(ctx))
	}
	s.client = v3client.New(member.Server)
	return nil
}

func memberConfig(opts Options, socketPath string, words zapcore.Core) *embed.Config {
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
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(words))
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
func (s *Server) Err() <-chan error { return s.member.Err() }

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
	if s.member != nil {
		s.member.Close()
	}
	errs = append(errs, s.socket.remove(), s.lock.release())
	return errors.Join(errs...)
}

// ignoreCanceled drops the error that an in-process client reports for its own closing.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
