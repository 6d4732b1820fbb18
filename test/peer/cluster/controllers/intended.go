package controllers

import (
	"regexp"
	"sync"
)

// difference is an entry of the table: an intended difference.
type difference struct {
	// why must convince an upstream reviewer.
	why string
	// scenarios matches the names of the scenarios that show it; "" matches all.
	scenarios string
	// where matches [Difference.Where].
	where string
	// upstream and allot match the values; "" matches any, "()" none.
	upstream, allot string
	// chance marks a difference that does not occur in every run.
	chance bool
}

// intended are all intended differences.
var intended = []difference{
	{
		why: "the labels that a Job generates select its pods. 1.37 shows them on the Job as well if its author gave labels " +
			"to the template and none to the Job, because defaulting then makes both one map; other Jobs have them in " +
			"neither, so that no client can select Jobs by them",
		where: `Job/\S+ metadata\.labels\.(batch\.kubernetes\.io/)?(controller-uid|job-name)`, allot: `()`,
	},
	{
		why:   "storage is not served, so that no volume controller protects a claim or reports a missing volume",
		where: `PersistentVolumeClaim/\S+ metadata\.finalizers\[0\]|Event/PersistentVolumeClaim/\S+ Normal FailedBinding`,
		allot: `()`,
	},
	{
		why:   "pod-template-generation, which apps/v1 has not used since 1.9, is neither written nor read (DIFFERENCES.md)",
		where: `Pod/.+ metadata\.labels\.pod-template-generation`, allot: `()`,
	},
	{
		why:       "of nodes whose daemon pods are equal, which one is updated first is undefined in 1.37 too",
		scenarios: `daemonset-(rolling|surge)`,
		where:     `Pod/agent-#\d+ spec\.(nodeName|affinity\..*values\[0\])`, upstream: `NAMESPACE-.`, allot: `NAMESPACE-.`,
		chance: true,
	},
	{
		why: "the pods of a deleted Deployment outlive it for a moment and have no scale then; whether the disruption " +
			"controller looks at that moment is undefined in 1.37 too",
		scenarios: `pdb`, where: `Event/PodDisruptionBudget/\S+ Warning CalculateExpectedPodCountFailed`, chance: true,
	},
	{
		why: "the deletion of a Job can be observed before the status of the CronJob that deleted it; 1.37 then reports " +
			"that Job as missing, and its next write of the status is a conflict. allot waits for its own write first",
		scenarios: `cronjob.*`, where: `Event/CronJob/\S+ Normal MissingJob`, allot: `()`, chance: true,
	},
	{
		why: "how many steps a rollout takes depends on how many pods become ready between two syncs of the Deployment, " +
			"in 1.37 too",
		scenarios: `deployment-.*`,
		where:     `ReplicaSet/\S+ \d+\} (metadata\.generation|status\.observedGeneration)`, upstream: `\d+`, allot: `\d+`,
		chance: true,
	},
}

// table has the entries, and which of them the scenarios have used.
type table struct {
	entries []entry
	mu      sync.Mutex
	used    map[int]bool
}

type entry struct {
	scenarios, where, upstream, allot *regexp.Regexp
	chance                            bool
}

func newTable(list []difference) *table {
	t := &table{used: map[int]bool{}}
	for _, d := range list {
		t.entries = append(t.entries, entry{whole(d.scenarios), whole(d.where), whole(d.upstream), whole(d.allot), d.chance})
	}
	return t
}

func whole(pattern string) *regexp.Regexp {
	if pattern == "" {
		return regexp.MustCompile(``)
	}
	return regexp.MustCompile(`^(?:` + pattern + `)$`)
}

// find returns the first entry that explains a difference, or -1.
func (t *table) find(d Difference) int {
	for i, e := range t.entries {
		if e.scenarios.MatchString(d.Scenario) && e.where.MatchString(d.Where) && e.upstream.MatchString(d.Upstream) &&
			e.allot.MatchString(d.Allot) {
			return i
		}
	}
	return -1
}

func (t *table) explains(d Difference) bool { return t.find(d) >= 0 }

// use records the entries that explain the differences.
func (t *table) use(found []Difference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range found {
		if i := t.find(d); i >= 0 {
			t.used[i] = true
		}
	}
}

// unused returns the entries that explained nothing.
func (t *table) unused() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []int
	for i, e := range t.entries {
		if !t.used[i] && !e.chance {
			out = append(out, i)
		}
	}
	return out
}
