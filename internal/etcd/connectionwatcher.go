package etcd

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// connectionWatcher records whether a client has connected to the socket. The process itself does
// not.
type connectionWatcher struct {
	connected atomic.Bool
}

// TagConn implements stats.Handler. It is called before the first request of a connection.
func (w *connectionWatcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	w.connected.Store(true)
	return ctx
}

// HandleConn implements stats.Handler.
func (w *connectionWatcher) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC implements stats.Handler.
func (w *connectionWatcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}

// HandleRPC implements stats.Handler.
func (w *connectionWatcher) HandleRPC(context.Context, stats.RPCStats) {}
