package client

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusPatch is a patch, merged or strategic, of fields of the status of the object that has this UID: a namesake that is
// there meanwhile stays as it is, and the patch is refused as a conflict.
func StatusPatch(uid types.UID, status map[string]any) ([]byte, error) {
	return statusPatch(map[string]any{"uid": uid}, status)
}

// StatusPatchOfVersion is a StatusPatch that is also refused when the object has changed since it was seen.
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
