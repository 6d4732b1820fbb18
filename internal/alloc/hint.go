package alloc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// maxHinted is how many domains or names a hint lists.
const maxHinted = 5

// hint names what a device has instead of the first attribute or capacity that is read and that it lacks; "" if it has all that
// is read, or it is not known what is.
func (r *reads) hint(pool *model.Pool, device int) string {
	d := &pool.Devices[device]
	if text := hintFor("attribute", r.attributes, slices.Collect(maps.Keys(d.Attributes)), pool.ID.Driver); text != "" {
		return text
	}
	return hintFor("capacity", r.capacity, slices.Collect(maps.Keys(d.Capacity)), pool.ID.Driver)
}

func hintFor(kind string, read []field, names []resourcev1.QualifiedName, driver string) string {
	byDomain := map[string][]string{}
	for _, name := range names {
		domain, id, ok := strings.Cut(string(name), "/")
		if !ok {
			domain, id = driver, string(name)
		}
		byDomain[domain] = append(byDomain[domain], id)
	}
	for i := range read {
		f := &read[i]
		ids, known := byDomain[f.domain]
		switch {
		case !known && len(byDomain) == 0:
			return fmt.Sprintf("the device has no %s at all", kind)
		case !known:
			return fmt.Sprintf("the device has no %s of domain %q, only of %s", kind, f.domain, listed(slices.Collect(maps.Keys(byDomain))))
		case !slices.Contains(ids, string(f.both[1])):
			return fmt.Sprintf("the device has no %s %s of domain %q, only %s", kind, f.both[1], f.domain, listed(ids))
		}
	}
	return ""
}

func listed(names []string) string {
	slices.Sort(names)
	if len(names) > maxHinted {
		names = append(names[:maxHinted:maxHinted], "and more")
	}
	return strings.Join(names, ", ")
}
