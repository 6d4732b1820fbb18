package etcd

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// visits notices whoever connects to the socket: the process itself does not.
type visits struct {
	any atomic.Bool
}

// TagConn implements stats.Handler. It comes before the first request of a connection.
func (v *visits) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	v.any.Store(true)
	return ctx
}

// HandleConn implements stats.Handler.
func (v *visits) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC implements stats.Handler.
func (v *visits) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (v *visits) HandleRPC(context.Context, stats.RPCStats) {}
