package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/app"
)

// noAction is done after a pod was created: the scheduler is on.
func noAction(context.Context, *core.Pod) error { return nil }

// writes returns the sum of the API server's counter of write requests, over all clients.
func writes(ctx context.Context, instance *app.Instance) (float64, error) {
	cfg := rest.CopyConfig(instance.Server.Loopback())
	cfg.GroupVersion = nil
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return 0, err
	}
	text, err := c.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read /metrics: %w", err)
	}
	sum := 0.0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "apiserver_request_total{") || !changes(line) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %q: %w", line, err)
		}
		sum += value
	}
	return sum, nil
}

func changes(metric string) bool {
	for _, verb := range []string{"POST", "PUT", "PATCH", "APPLY", "DELETE"} {
		if strings.Contains(metric, `verb="`+verb+`"`) {
			return true
		}
	}
	return false
}
