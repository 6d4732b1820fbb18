package client

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// StatusPatch is a patch, merged or strategic, of fields of the status of the object that has this UID: a namesake that is
// there meanwhile stays as it is, and the patch is refused as a conflict.
func StatusPatch(uid types.UID, status map[string]any) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": status})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return patch, nil
}
