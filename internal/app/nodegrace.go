package app

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/allot-dev/allot/internal/controller/nodelifecycle"
)

func addNodeGraceFlag(flags *pflag.FlagSet, grace *time.Duration) {
	flags.DurationVar(grace, "node-monitor-grace-period", nodelifecycle.DefaultGracePeriod,
		"how long a node may be silent before it is lost")
}

func checkNodeGrace(grace time.Duration) error {
	if grace < time.Second {
		return fmt.Errorf("--node-monitor-grace-period must be at least 1s, got %s", grace)
	}
	return nil
}
