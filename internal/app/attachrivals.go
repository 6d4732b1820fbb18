package app

import (
	"context"
	"fmt"

	"github.com/allot-dev/allot/internal/attach"
)

// rivalsPolicy is the reaction to another scheduler that allocates the same devices.
type rivalsPolicy string

const (
	rivalsWarn   rivalsPolicy = "warn"
	rivalsRefuse rivalsPolicy = "refuse"
)

// String returns the value of the flag.
func (p *rivalsPolicy) String() string { return string(*p) }

// Type returns the values that the flag can have.
func (*rivalsPolicy) Type() string { return "warn|refuse" }

// Set sets the value of the flag.
func (p *rivalsPolicy) Set(text string) error {
	if text != string(rivalsWarn) && text != string(rivalsRefuse) {
		return fmt.Errorf("%q is neither warn nor refuse", text)
	}
	*p = rivalsPolicy(text)
	return nil
}

// lookForRivals searches the filled caches once for other schedulers that allocate devices (F64).
// The API server of an existing cluster does not prevent that a device is allocated to two claims.
func (a *attachment) lookForRivals(_ context.Context, c *component) error {
	rivals := attach.CompetingSchedulers(a.opts.schedulerName, c.Caches.Pods().List(), c.Caches.ResourceClaims().List())
	for i := range rivals {
		a.progress.Line("WARNING: %s", &rivals[i])
	}
	if len(rivals) == 0 {
		return nil
	}
	a.progress.Line(
		"WARNING: a device may go to two claims when two schedulers give out devices of the same driver; let one scheduler have them (see docs/install-on-a-cluster.md)",
	)
	if a.opts.rivals == rivalsRefuse {
		return fmt.Errorf("%s (--other-schedulers=refuse)", &rivals[0])
	}
	return nil
}
