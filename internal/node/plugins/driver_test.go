package plugins

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	drahealthv1 "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"
	registrationv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// testDriver is a plugin of a driver that prepares one CDI device for each claim, and can fail in
// many ways.
type testDriver struct {
	registrationv1.UnsafeRegistrationServer
	drav1.UnsafeDRAPluginServer
	drahealthv1.UnsafeDRAResourceHealthServer

	name   string // of the plugin
	info   *registrationv1.PluginInfo
	note   func(format string, args ...any)
	server *grpc.Server
	socket string // for registration
	// outcome receives the result of each registration.
	outcome chan *registrationv1.RegistrationStatus
	reports chan []*drahealthv1.DeviceHealth

	mu     sync.Mutex
	faults []string
}

// start serves the registration and the driver on one socket, as a plugin may.
func (d *testDriver) start(services []string) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", d.socket)
	if err != nil {
		return err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	d.server = grpc.NewServer()
	registrationv1.RegisterRegistrationServer(d.server, d)
	for _, service := range services {
		switch service {
		case drav1.DRAPluginService:
			drav1.RegisterDRAPluginServer(d.server, d)
		case drav1beta1.DRAPluginService:
			drav1beta1.RegisterDRAPluginServer(d.server, drav1beta1.V1ServerWrapper{DRAPluginServer: d})
		case drahealthv1.DRAResourceHealthService:
			drahealthv1.RegisterDRAResourceHealthServer(d.server, d)
		}
	}
	go func() { _ = d.server.Serve(listener) }()
	return nil
}

// stop ends the plugin. One that crashes leaves its socket behind.
func (d *testDriver) stop(crash bool) {
	d.server.Stop()
	if !crash {
		_ = os.Remove(d.socket)
	}
}

func (d *testDriver) setFaults(faults []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = faults
}

func (d *testDriver) has(fault string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.faults, fault)
}

func (d *testDriver) GetInfo(context.Context, *registrationv1.InfoRequest) (*registrationv1.PluginInfo, error) {
	return d.info, nil
}

func (d *testDriver) NotifyRegistrationStatus(
	_ context.Context, st *registrationv1.RegistrationStatus,
) (*registrationv1.RegistrationStatusResponse, error) {
	d.outcome <- st
	return &registrationv1.RegistrationStatusResponse{}, nil
}

// recordCall records a call, and returns the fault that it must have.
func (d *testDriver) recordCall(ctx context.Context, method string, claims []*drav1.Claim) error {
	var names []string
	for _, claim := range claims {
		names = append(names, claim.Namespace+"/"+claim.Name)
	}
	d.note("%s: %s %s", d.name, method, strings.Join(names, " "))
	if d.has("hang") {
		<-ctx.Done()
	}
	if d.has("error") {
		return errors.New("out of order")
	}
	return nil
}

func (d *testDriver) NodePrepareResources(
	ctx context.Context, request *drav1.NodePrepareResourcesRequest,
) (*drav1.NodePrepareResourcesResponse, error) {
	if err := d.recordCall(ctx, "NodePrepareResources", request.Claims); err != nil {
		return nil, err
	}
	response := &drav1.NodePrepareResourcesResponse{Claims: map[string]*drav1.NodePrepareResourceResponse{}}
	for _, claim := range request.Claims {
		device := &drav1.Device{
			PoolName:     "node-0",
			DeviceName:   "dev-" + claim.Name,
			CdiDeviceIds: []string{d.info.Name + "/dev=" + claim.Name},
		}
		answer := &drav1.NodePrepareResourceResponse{Devices: []*drav1.Device{device}}
		if d.has("refuse") {
			answer = &drav1.NodePrepareResourceResponse{Error: "no firmware"}
		}
		response.Claims[claim.Uid] = answer
	}
	if d.has("skip") {
		response.Claims = nil
	}
	if d.has("stranger") {
		response.Claims["other-uid"] = &drav1.NodePrepareResourceResponse{}
	}
	return response, nil
}

func (d *testDriver) NodeUnprepareResources(
	ctx context.Context, request *drav1.NodeUnprepareResourcesRequest,
) (*drav1.NodeUnprepareResourcesResponse, error) {
	if err := d.recordCall(ctx, "NodeUnprepareResources", request.Claims); err != nil {
		return nil, err
	}
	response := &drav1.NodeUnprepareResourcesResponse{Claims: map[string]*drav1.NodeUnprepareResourceResponse{}}
	for _, claim := range request.Claims {
		answer := &drav1.NodeUnprepareResourceResponse{}
		if d.has("refuse") {
			answer.Error = "still busy"
		}
		response.Claims[claim.Uid] = answer
	}
	if d.has("skip") {
		response.Claims = nil
	}
	if d.has("stranger") {
		response.Claims["other-uid"] = &drav1.NodeUnprepareResourceResponse{}
	}
	return response, nil
}

func (d *testDriver) NodeWatchResources(
	_ *drahealthv1.NodeWatchResourcesRequest, stream drahealthv1.DRAResourceHealth_NodeWatchResourcesServer,
) error {
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case devices := <-d.reports:
			if err := stream.Send(&drahealthv1.NodeWatchResourcesResponse{Devices: devices}); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
}

func (d *testDriver) report(device, health string) *drahealthv1.DeviceHealth {
	return &drahealthv1.DeviceHealth{
		Device: &drahealthv1.DeviceIdentifier{PoolName: "node-0", DeviceName: device},
		Health: drahealthv1.HealthStatus(drahealthv1.HealthStatus_value[health]), Message: "it is " + strings.ToLower(health),
	}
}

func socketOf(registry, name string) string { return filepath.Join(registry, name+".sock") }
