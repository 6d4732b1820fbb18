package app

import (
	"context"
	"fmt"

	"github.com/allot-dev/allot/internal/attach"
)

// rivalsPolicy says what is done when another scheduler gives out the same devices.
type rivalsPolicy string

const (
	rivalsWarn   rivalsPolicy = "warn"
	rivalsRefuse rivalsPolicy = "refuse"
)

// String is the value of the flag.
func (p *rivalsPolicy) String() string { return string(*p) }

// Type is the kind of the flag.
func (*rivalsPolicy) Type() string { return "warn|refuse" }

// Set takes the value of the flag.
func (p *rivalsPolicy) Set(text string) error {
	if text != string(rivalsWarn) && text != string(rivalsRefuse) {
		return fmt.Errorf("%q is neither warn nor refuse", text)
	}
	*p = rivalsPolicy(text)
	return nil
}

// lookForRivals looks once at the caches, which are filled, for others who give out devices (F64). The API server of
// an existing cluster does not see to it that a device goes to one claim only.
func (a *attachment) lookForRivals(_ context.Context, c *component) error {
	rivals := attach.CompetingSchedulers(a.opts.schedulerName, c.Caches.Pods().List(), c.Caches.ResourceClaims().List())
	for i := range rivals {
		a.progress.Line("WARNING: %s", &rivals[i])
	}
	if len(rivals) == 0 {
		return nil
	}
	a.progress.Line("WARNING: a device may go to two claims when two schedulers give out devices of the same driver; let one scheduler have them (see docs/install-on-a-cluster.md)")
	if a.opts.rivals == rivalsRefuse {
		return fmt.Errorf("%s (--other-schedulers=refuse)", &rivals[0])
	}
	return nil
}
