package forecast

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

// maxExplained limits the units of a Plan whose reasons are explained.
const maxExplained = 20

// addWaits adds why pods wait, those first that wait because of the Changes.
func (d *difference) addWaits(p *Plan, snap *snapshot.Snapshot) error {
	units := map[model.UnitKey][]*core.Pod{}
	for _, pod := range d.world.Pods.List() {
		if pod.Spec.NodeName == "" && !pod.Finished() && pod.DeletionTimestamp == nil {
			key := d.world.State.UnitOf(unitOf(pod))
			units[key] = append(units[key], pod)
		}
	}
	var waits []Waiting
	for _, key := range slices.SortedFunc(maps.Keys(units), compareUnits) {
		w := Waiting{Subject: unitText(key), Already: true}
		for _, pod := range units[key] {
			w.Pods = append(w.Pods, pod.Name)
			if _, existed := d.oldPods[string(pod.UID)]; existed {
				p.Summary.StillWaiting++
			} else {
				w.Already = false
			}
		}
		w.first = model.KeyOf(units[key][0])
		waits = append(waits, w)
	}
	slices.SortStableFunc(waits, func(a, b Waiting) int { return compareBools(a.Already, b.Already) })
	if len(waits) == 0 {
		return nil
	}
	e, err := d.explainer(snap)
	if err != nil {
		return err
	}
	for i := range min(len(waits), maxExplained) {
		if err := waits[i].explain(e); err != nil {
			return err
		}
	}
	p.Waits = waits
	return nil
}

func compareUnits(a, b model.UnitKey) int {
	return cmp.Or(model.CompareKeys(a.Key, b.Key), compareBools(a.Group, b.Group))
}

// compareBools sorts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// explain adds why the pods wait.
func (w *Waiting) explain(e *explain.Explainer) error {
	kind, key := "pod", w.first
	for _, group := range []string{"PodGroup", "CompositePodGroup"} {
		if name, ok := strings.CutPrefix(w.Subject, group+" "+key.Namespace+"/"); ok {
			kind, key.Name = strings.ToLower(group), name
		}
	}
	report, err := e.Explain(kind, key)
	if err != nil {
		return err
	}
	w.Reason, w.Answers, w.Help = report.Summary, report.Pods, report.Help
	return nil
}
