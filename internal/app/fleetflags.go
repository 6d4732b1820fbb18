package app

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/allot-dev/allot/internal/fleet"
)

const (
	defaultNodes          = 3
	defaultDevicesPerNode = 4
)

// fleetOptions are the flags that describe a simulated fleet.
type fleetOptions struct {
	file           string
	nodes          int
	devicesPerNode int
}

func (o *fleetOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.file, "fleet", "", "description of the simulated fleet (docs/fleet.md)")
	flags.IntVar(&o.nodes, "nodes", defaultNodes, "number of simulated nodes")
	flags.IntVar(&o.devicesPerNode, "devices-per-node", defaultDevicesPerNode, "number of devices on each simulated node")
}

// check returns an error if the flags describe the fleet in two ways.
func (o *fleetOptions) check(flags *pflag.FlagSet) error {
	if o.file != "" && (flags.Changed("nodes") || flags.Changed("devices-per-node")) {
		return errors.New("--fleet says how many nodes and devices there are: leave out --nodes and --devices-per-node")
	}
	return nil
}

// fleet returns the fleet that the flags describe.
func (o *fleetOptions) fleet() (fleet.Fleet, error) {
	if o.file == "" {
		if o.nodes < 0 || o.devicesPerNode < 0 {
			return fleet.Fleet{}, errors.New("--nodes and --devices-per-node must not be negative")
		}
		if o.nodes > fleet.MaxNodes || o.devicesPerNode > fleet.MaxDevices {
			return fleet.Fleet{}, fmt.Errorf("--nodes may be %d at most, and --devices-per-node %d", fleet.MaxNodes,
				fleet.MaxDevices)
		}
		return fleet.Simple(o.nodes, o.devicesPerNode), nil
	}
	data, err := os.ReadFile(o.file)
	if err != nil {
		return fleet.Fleet{}, fmt.Errorf("fleet: %w", err)
	}
	f, err := fleet.Parse(data)
	if err != nil {
		return fleet.Fleet{}, fmt.Errorf("fleet %s: %w", o.file, err)
	}
	return f, nil
}

func addPluginsFlag(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "plugins", "",
		"folder in which DRA drivers register, for node NAME in NAME/plugins_registry (docs/drivers.md)")
}
