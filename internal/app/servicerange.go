package app

import (
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/allot-dev/allot/internal/apiserver"
)

func addServiceRangeFlag(flags *pflag.FlagSet, of *netip.Prefix) {
	flags.TextVar(of, "service-cluster-ip-range", apiserver.DefaultServiceRange,
		"range of the cluster IPs that Services get")
}
