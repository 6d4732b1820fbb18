package app

import "github.com/spf13/pflag"

func addTracingFlag(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "tracing-config-file", "",
		"file with a TracingConfiguration, as for kube-apiserver: the collector of traces of requests (default: none)")
}
