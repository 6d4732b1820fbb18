package controllertest

import (
	"context"
	"errors"
	"net/http"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// Wire is the connection to a server of pods. It loses responses.
type Wire struct {
	workload.PodServer
	lost map[string]bool // by verb
}

// NewWire returns a Wire that loses nothing.
func NewWire(server workload.PodServer) *Wire { return &Wire{server, map[string]bool{}} }

// Lose handles the scenario verb lose [verb=create|delete]: from now on such requests are made, and
// their responses are lost.
func (w *Wire) Lose(d *datadriven.TestData) {
	clear(w.lost)
	for _, arg := range d.CmdArgs {
		for _, verb := range arg.Vals {
			w.lost[verb] = true
		}
	}
}

var errLost = errors.New("connection reset by peer")

// CreatePod implements workload.PodServer.
func (w *Wire) CreatePod(ctx context.Context, pod *core.Pod) (*core.Pod, error) {
	created, err := w.PodServer.CreatePod(ctx, pod)
	if err == nil && w.lost["create"] {
		return nil, errLost
	}
	return created, err
}

// DeletePod implements workload.PodServer.
func (w *Wire) DeletePod(ctx context.Context, pod *core.Pod) error {
	err := w.PodServer.DeletePod(ctx, pod)
	if err == nil && w.lost["delete"] {
		return errLost
	}
	return err
}

// Refusal returns the error of a request that the server did not carry out.
func Refusal(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
	}}
}
