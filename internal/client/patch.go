package client

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusPatch returns a merge or strategic merge patch for status fields of the object with this
// UID. The server rejects it as a conflict if the object was recreated.
func StatusPatch(uid types.UID, status map[string]any) ([]byte, error) {
	return statusPatch(map[string]any{"uid": uid}, status)
}

// StatusPatchOfVersion is a StatusPatch that is also rejected if the object has changed since it
// was read.
func StatusPatchOfVersion(seen metav1.Object, status map[string]any) ([]byte, error) {
	return statusPatch(map[string]any{"uid": seen.GetUID(), "resourceVersion": seen.GetResourceVersion()}, status)
}

func statusPatch(metadata, status map[string]any) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return patch, nil
}
