package plugins

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	drahealthv1 "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drahealthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"
)

// CallTimeout is the time that a driver has for a call, as in a kubelet.
const CallTimeout = 45 * time.Second

var (
	services       = []string{drav1.DRAPluginService, drav1beta1.DRAPluginService}
	healthServices = []string{drahealthv1.DRAResourceHealthService, drahealthv1alpha1.DRAResourceHealthService}
)

// plugin is one running instance of a driver. During an upgrade a driver has two.
type plugin struct {
	driver, endpoint string
	// service and health are the versions to use. An empty health means that there is none.
	service, health string
	timeout         time.Duration
	conn            *grpc.ClientConn

	connected atomic.Bool
	// changed is called when connected has changed.
	changed func()
	// reports on the health of devices are guarded by the lock of the node.
	reports map[deviceKey]healthReport
}

// negotiate returns the services to use of those that a plugin has, which are in its order of
// preference.
func negotiate(supported []string) (service, health string, err error) {
	i := slices.IndexFunc(supported, func(s string) bool { return slices.Contains(services, s) })
	if i < 0 {
		return "", "", fmt.Errorf("none of the services of the plugin (%q) is supported (%q)", supported, services)
	}
	for _, h := range healthServices {
		if slices.Contains(supported, h) {
			health = h
			break
		}
	}
	return supported[i], health, nil
}

// connect opens the connection, which is kept, also while the plugin restarts.
func (p *plugin) connect() error {
	conn, err := dial(p.endpoint, grpc.WithStatsHandler(connection{p}), grpc.WithIdleTimeout(0))
	if err != nil {
		return fmt.Errorf("connect to DRA driver %s at %s: %w", p.driver, p.endpoint, err)
	}
	p.conn = conn
	conn.Connect()
	return nil
}

// dial returns a connection to a socket. It is made soon after the socket exists, which is before
// its process listens.
func dial(socket string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	soon := backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second}
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: time.Second}))
	return grpc.NewClient("unix:"+socket, opts...)
}

func (p *plugin) prepare(ctx context.Context, claims []*drav1.Claim) (*drav1.NodePrepareResourcesResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.client().NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{Claims: claims})
}

func (p *plugin) unprepare(ctx context.Context, claims []*drav1.Claim) (*drav1.NodeUnprepareResourcesResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.client().NodeUnprepareResources(ctx, &drav1.NodeUnprepareResourcesRequest{Claims: claims})
}

func (p *plugin) client() drav1.DRAPluginClient {
	if p.service == drav1beta1.DRAPluginService {
		return drav1beta1.V1Beta1ClientWrapper{DRAPluginClient: drav1beta1.NewDRAPluginClient(p.conn)}
	}
	return drav1.NewDRAPluginClient(p.conn)
}

// watchHealth opens the stream of health reports.
func (p *plugin) watchHealth(ctx context.Context) (drahealthv1.DRAResourceHealth_NodeWatchResourcesClient, error) {
	request := &drahealthv1.NodeWatchResourcesRequest{}
	if p.health == drahealthv1alpha1.DRAResourceHealthService {
		old := drahealthv1alpha1.NewDRAResourceHealthClient(p.conn)
		return drahealthv1.V1Alpha1ClientWrapper{Client: old}.NodeWatchResources(ctx, request)
	}
	return drahealthv1.NewDRAResourceHealthClient(p.conn).NodeWatchResources(ctx, request)
}

// connection follows the connection of a plugin.
type connection struct{ plugin *plugin }

func (connection) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (connection) HandleRPC(context.Context, stats.RPCStats)                         {}
func (connection) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn records whether there is a connection. After a lost one it asks for the next, because
// otherwise only the next call would notice that the plugin has restarted. gRPC holds locks while
// it calls HandleConn.
func (c connection) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.plugin.connected.Store(true)
	case *stats.ConnEnd:
		c.plugin.connected.Store(false)
		go c.plugin.conn.Connect()
	default:
		return
	}
	go c.plugin.changed()
}
