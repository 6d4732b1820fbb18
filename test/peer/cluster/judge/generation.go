package judge

import (
	"encoding/json"
	"reflect"
)

// sameWithoutEmptyLists reports whether the old and the new spec of a request differ only in lists
// that are empty and not there.
func (r Request) sameWithoutEmptyLists() bool {
	var old, changed map[string]any
	if json.Unmarshal(r.Old, &old) != nil || json.Unmarshal(r.New, &changed) != nil {
		return false
	}
	return reflect.DeepEqual(withoutEmptyLists(old["spec"]), withoutEmptyLists(changed["spec"]))
}

func withoutEmptyLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if list, ok := value.([]any); value != nil && (!ok || len(list) > 0) {
				out[key] = withoutEmptyLists(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutEmptyLists(v[i])
		}
		return out
	}
	return v
}
