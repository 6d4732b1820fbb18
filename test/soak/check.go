package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// startChecks checks the claims continuously. The returned function stops that, and returns the
// violations.
func startChecks(ctx context.Context, a *api) func() error {
	result := make(chan error, 1)
	go func() {
		var wrong error
		for ctx.Err() == nil && wrong == nil {
			wrong = a.devicesOnce(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
		result <- wrong
	}()
	return func() error { return <-result }
}

// devicesOnce checks that no device is allocated to two claims. A list is consistent.
func (a *api) devicesOnce(ctx context.Context) error {
	list, err := a.of("ResourceClaim").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil //nolint:nilerr // the server is not running
	}
	holder := map[string]string{}
	for _, claim := range list.Items {
		results, _, _ := unstructured.NestedSlice(claim.Object, "status", "allocation", "devices", "results")
		for _, r := range results {
			m, _ := r.(map[string]any)
			device := fmt.Sprint(m["driver"], "/", m["pool"], "/", m["device"])
			if other, held := holder[device]; held {
				return fmt.Errorf("device %s is allocated to the claims %s and %s", device, other, claim.GetName())
			}
			holder[device] = claim.GetName()
		}
	}
	return nil
}

// watches are many watches on pods.
type watches struct {
	api    *api
	opened int
	slow   int
	events atomic.Int64
	// lost and lostSlow count the fast and slow watches that were closed, by a killed server or
	// because they were too slow.
	lost, lostSlow atomic.Int64
	wg             sync.WaitGroup

	mu    sync.Mutex
	shown map[int]bool // fast watches that have shown the last change
	gone  map[int]bool
}

// marker is the name of the pod that each watch must show at the end.
const marker = "soak-marker"

// watchesPerClient limits the streams of a connection.
const watchesPerClient = 100

func (a *api) startWatches(ctx context.Context, count int) (*watches, error) {
	w := &watches{api: a, opened: count, shown: map[int]bool{}, gone: map[int]bool{}}
	narrow, err := a.narrow()
	if err != nil {
		return nil, err
	}
	var fast *http.Client
	for i := range count {
		if i%watchesPerClient == 0 {
			if fast, err = a.raw(); err != nil {
				return nil, err
			}
		}
		slow, client := i%10 == 9, fast
		if slow {
			w.slow++
			client = narrow
		}
		if err := w.open(ctx, client, i, slow); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *watches) open(ctx context.Context, client *http.Client, id int, slow bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.api.cfg.Host+"/api/v1/pods?watch=1&timeoutSeconds=7200",
		nil)
	if err != nil {
		return err
	}
	var resp *http.Response
	err = until(ctx, patience, func() error {
		resp, err = client.Do(req) //nolint:bodyclose // the goroutine below reads the body, and closes it
		return err
	})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	w.wg.Go(func() {
		defer resp.Body.Close()
		w.read(ctx, resp.Body, id, slow)
	})
	return nil
}

// read reads a watch until it ends. A slow one reads a small part each second.
func (w *watches) read(ctx context.Context, body io.Reader, id int, slow bool) {
	if slow {
		piece := make([]byte, 512)
		for ctx.Err() == nil {
			if _, err := body.Read(piece); err != nil {
				if ctx.Err() == nil {
					w.lostSlow.Add(1)
				}
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		return
	}
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if ctx.Err() == nil {
				w.lost.Add(1)
				w.mu.Lock()
				w.gone[id] = true
				w.mu.Unlock()
			}
			return
		}
		w.events.Add(1)
		if strings.Contains(line, `"name":"`+marker+`"`) {
			w.mu.Lock()
			w.shown[id] = true
			w.mu.Unlock()
		}
	}
}

// check creates a last pod, which all remaining fast watches must show.
func (w *watches) check(ctx context.Context) error {
	manifest := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + marker +
		"}\nspec: {schedulerName: none, containers: [{name: c, image: i}]}\n"
	if err := w.api.create(ctx, manifest); err != nil {
		return err
	}
	err := until(ctx, patience, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		missing := 0
		for i := range w.opened {
			if i%10 != 9 && !w.shown[i] && !w.gone[i] {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d watches do not show the last change", missing, w.opened)
		}
		return nil
	})
	return errors.Join(err, w.api.remove(ctx, "Pod", marker, metav1.DeletePropagationBackground))
}

func (w *watches) summary() string {
	return fmt.Sprintf("%d watches, %d of them slow; %d fast and %d slow ones were cut off; the fast ones read %d events",
		w.opened, w.slow, w.lost.Load(), w.lostSlow.Load(), w.events.Load())
}
