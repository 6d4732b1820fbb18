package apiserver

import (
	"errors"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
)

// addTracing has the server send traces of requests to the collector that a file in the format of
// kube-apiserver's --tracing-config-file names. Without a file it does nothing. The server sends the
// last traces when it stops.
func addTracing(generic *genericapiserver.Config, file string) error {
	tracing := options.NewTracingOptions()
	tracing.ConfigFile = file
	if err := errors.Join(tracing.Validate()...); err != nil {
		return err
	}
	if err := tracing.ApplyTo(nil, generic); err != nil {
		return fmt.Errorf("tracing by %s: %w", file, err)
	}
	return nil
}
