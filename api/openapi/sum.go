package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Structure returns a schema as JSON values without its descriptions. Two definitions of the same
// structure have the same Sum.
func Structure(s *spec.Schema) (map[string]any, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode a schema: %w", err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("decode a schema: %w", err)
	}
	return withoutTexts(v).(map[string]any), nil
}

// withoutTexts drops descriptions. A property may be called description too: that is an object, not
// a text.
func withoutTexts(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if _, text := value.(string); key != "description" || !text {
				out[key] = withoutTexts(value)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			out = append(out, withoutTexts(value))
		}
		return out
	}
	return v
}

// Sum returns the checksum of a structure, as in testdata/upstream.sums.
func Sum(structure map[string]any) (string, error) {
	data, err := json.Marshal(structure)
	if err != nil {
		return "", fmt.Errorf("encode a structure: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
