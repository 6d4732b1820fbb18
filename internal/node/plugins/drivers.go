package plugins

import (
	"fmt"
	"slices"
)

// drivers are the plugins of one node by the name of their driver, in the order of registration.
// They are not safe for concurrent use.
type drivers map[string][]*plugin

// add adds a plugin. No plugin can take the endpoint of another one.
func (d drivers) add(p *plugin) error {
	if slices.ContainsFunc(d[p.driver], func(other *plugin) bool { return other.endpoint == p.endpoint }) {
		return fmt.Errorf("endpoint %s already registered for DRA driver plugin %s", p.endpoint, p.driver)
	}
	d[p.driver] = append(d[p.driver], p)
	return nil
}

func (d drivers) remove(p *plugin) {
	d[p.driver] = slices.DeleteFunc(d[p.driver], func(other *plugin) bool { return other == p })
	if len(d[p.driver]) == 0 {
		delete(d, p.driver)
	}
}

// get returns the plugin to call: the one that registered last, of those that are connected if
// there are any.
func (d drivers) get(driver string) (*plugin, error) {
	var found *plugin
	for _, p := range d[driver] {
		if found == nil || p.connected.Load() || !found.connected.Load() {
			found = p
		}
	}
	if found == nil {
		return nil, fmt.Errorf("DRA driver %s is not registered", driver)
	}
	return found, nil
}

// usable reports whether a plugin of the driver is connected.
func (d drivers) usable(driver string) bool {
	return slices.ContainsFunc(d[driver], func(p *plugin) bool { return p.connected.Load() })
}
