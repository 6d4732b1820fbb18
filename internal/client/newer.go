package client

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"

	"github.com/allot-dev/allot/internal/apiserver/inmemory"
)

// Client is the typed client of one kind.
type Client[T Object, L runtime.Object] struct {
	*gentype.ClientWithList[T, L]

	// newer means that the server may have fields that the types of this client lack. Objects are
	// then patched instead of replaced: only the fields that allot owns are written, and the write
	// still fails if the object has changed.
	newer bool
	// status lists the status fields that allot writes on such a server.
	status []string
	// translated means that decoded objects are translated to the hub version.
	translated bool
}

// Watch watches objects. If the server is in the process, its events are not encoded.
func (c Client[T, L]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if c.translated {
		return c.ClientWithList.Watch(ctx, opts)
	}
	ctx, receiver := inmemory.WithReceiver(ctx)
	response, err := c.ClientWithList.Watch(ctx, opts)
	if err != nil {
		receiver.Abandon()
		return nil, err
	}
	return receiver.Watch(response), nil
}

// Update replaces an object. On a newer server it writes only the finalizers, because components
// that work there update nothing else.
func (c Client[T, L]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	if !c.newer {
		return c.ClientWithList.Update(ctx, object, opts)
	}
	return c.patch(ctx, object, map[string]any{"finalizers": object.GetFinalizers()}, nil, opts)
}

// UpdateStatus replaces the status of an object. On a newer server it writes only the fields that
// allot owns.
func (c Client[T, L]) UpdateStatus(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	if !c.newer || len(c.status) == 0 {
		return c.ClientWithList.UpdateStatus(ctx, object, opts)
	}
	var none T
	encoded, err := json.Marshal(object)
	if err != nil {
		return none, fmt.Errorf("encode %s: %w", object.GetName(), err)
	}
	var whole struct{ Status map[string]any }
	if err := json.Unmarshal(encoded, &whole); err != nil {
		return none, fmt.Errorf("encode %s: %w", object.GetName(), err)
	}
	status := map[string]any{}
	for _, field := range c.status {
		status[field] = whole.Status[field] // null removes the field
	}
	return c.patch(ctx, object, map[string]any{}, status, opts, "status")
}

// patch merges fields into this version of the object.
func (c Client[T, L]) patch(
	ctx context.Context, object T, metadata, status map[string]any, opts metav1.UpdateOptions, subresources ...string,
) (T, error) {
	metadata["uid"], metadata["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	change := map[string]any{"metadata": metadata}
	if status != nil {
		change["status"] = status
	}
	text, err := json.Marshal(change)
	if err != nil {
		var none T
		return none, fmt.Errorf("encode a patch of %s: %w", object.GetName(), err)
	}
	options := metav1.PatchOptions{
		DryRun:          opts.DryRun,
		FieldManager:    opts.FieldManager,
		FieldValidation: opts.FieldValidation,
	}
	return c.Patch(ctx, object.GetName(), types.MergePatchType, text, options, subresources...)
}
