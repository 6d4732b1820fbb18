package alloc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// maxHinted limits the domains or names that a hint lists.
const maxHinted = 5

// hint describes the first attribute or capacity that is read but missing on the device, and what
// the device has instead. It returns "" if nothing is missing or the read set is unknown.
func (r *readSet) hint(pool *model.Pool, device int) string {
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
			return fmt.Sprintf("the device has no %s of domain %q, only of %s", kind, f.domain,
				listed(slices.Collect(maps.Keys(byDomain))))
		case !slices.Contains(ids, string(f.qualified[1])):
			return fmt.Sprintf("the device has no %s %s of domain %q, only %s", kind, f.qualified[1], f.domain, listed(ids))
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
