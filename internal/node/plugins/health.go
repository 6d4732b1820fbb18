package plugins

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	drahealthv1 "k8s.io/kubelet/pkg/apis/dra-health/v1"
)

const (
	// healthTimeout is how long a report on a device counts, unless the driver says otherwise.
	healthTimeout = 30 * time.Second
	// watchHealthAgain is the delay before a stream of reports that has ended is opened again.
	watchHealthAgain = 5 * time.Second
	// reportedDevices is the number of devices that reports of one plugin may name.
	reportedDevices = 16384
)

// deviceKey is a device of one driver.
type deviceKey struct{ pool, device string }

// healthReport is the last report of a plugin on a device.
type healthReport struct {
	health  corev1.ResourceHealthStatus
	message string
	expires time.Time
}

// followHealth receives the reports of a plugin until ctx ends. A plugin that does not implement
// reports is not asked again.
func (n *node) followHealth(ctx context.Context, p *plugin) {
	for {
		err := n.receiveHealth(ctx, p)
		n.dropHealth(p)
		if ctx.Err() != nil || status.Code(err) == codes.Unimplemented {
			return
		}
		klog.FromContext(ctx).V(2).Info("health reports ended", "node", n.name, "driver", p.driver, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchHealthAgain):
		}
	}
}

func (n *node) receiveHealth(ctx context.Context, p *plugin) error {
	stream, err := p.watchHealth(ctx)
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		n.setHealth(p, response.GetDevices())
	}
}

// setHealth keeps reports on devices; those on other devices stay until they expire.
func (n *node) setHealth(p *plugin, devices []*drahealthv1.DeviceHealth) {
	now := time.Now()
	n.mu.Lock()
	changed := false
	for _, d := range devices {
		changed = p.report(d, now) || changed
	}
	for key, report := range p.reports {
		if report.expires.Before(now) {
			delete(p.reports, key)
			changed = true
		}
	}
	n.mu.Unlock()
	if changed {
		n.opts.Changed(n.name)
	}
}

// dropHealth deletes all reports of a plugin.
func (n *node) dropHealth(p *plugin) {
	n.mu.Lock()
	changed := len(p.reports) > 0
	p.reports = nil
	n.mu.Unlock()
	if changed {
		n.opts.Changed(n.name)
	}
}

// report keeps a report, and returns whether it differs from the one before.
func (p *plugin) report(d *drahealthv1.DeviceHealth, now time.Time) (changed bool) {
	key := deviceKey{d.GetDevice().GetPoolName(), d.GetDevice().GetDeviceName()}
	before, known := p.reports[key]
	if !known && len(p.reports) >= reportedDevices {
		return false
	}
	if p.reports == nil {
		p.reports = map[deviceKey]healthReport{}
	}
	timeout := healthTimeout
	if seconds := d.GetHealthCheckTimeoutSeconds(); seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	next := healthReport{
		health:  healthFrom(d.GetHealth()),
		message: shortMessage(d.GetMessage()),
		expires: now.Add(timeout),
	}
	p.reports[key] = next
	return !known || before.health != next.health || before.message != next.message
}

func healthFrom(health drahealthv1.HealthStatus) corev1.ResourceHealthStatus {
	switch health {
	case drahealthv1.HealthStatus_HEALTHY:
		return corev1.ResourceHealthStatusHealthy
	case drahealthv1.HealthStatus_UNHEALTHY:
		return corev1.ResourceHealthStatusUnhealthy
	default:
		return corev1.ResourceHealthStatusUnknown
	}
}

// shortMessage cuts a message at the length that the API allows.
func shortMessage(message string) string {
	if len(message) <= corev1.ResourceHealthMessageMaxLength {
		return message
	}
	return strings.ToValidUTF8(message[:corev1.ResourceHealthMessageMaxLength-3], "") + "..."
}
