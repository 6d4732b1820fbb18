package controllers

import (
	"regexp"
	"sync"
)

// difference is an entry of the table: a difference that is meant to be.
type difference struct {
	// why must convince a reviewer from upstream.
	why string
	// scenarios match the names of the scenarios that show it; "" is all.
	scenarios string
	// where matches [Difference.Where].
	where string
	// upstream and allot match the values; "" is any, "()" none.
	upstream, allot string
	// chance is for what does not differ in every run.
	chance bool
}

// intended are all differences that are meant to be.
var intended = []difference{
	{
		why: "pods get no tolerations for nodes that are not ready or unreachable: a simulated node is not lost " +
			"(DIFFERENCES.md, Workloads and collection)",
		where:    `Pod/.+ spec\.tolerations\[\d+\]\.(effect|key|operator|tolerationSeconds)`,
		upstream: `NoExecute|node\.kubernetes\.io/(not-ready|unreachable)|Exists|300`, allot: `()`,
	},
	{
		why: "a Job that gets the labels of its template as its own gets them as its author wrote them; in 1.37 both are " +
			"one map, so that the labels which are generated for the pods appear on the Job too",
		where: `Job/\S+ metadata\.labels\.(batch\.kubernetes\.io/)?(controller-uid|job-name)`, allot: `()`,
	},
	{
		why:   "storage is not served, so that no volume controller protects a claim or reports that no volume is there",
		where: `PersistentVolumeClaim/\S+ metadata\.finalizers\[0\]|Event/PersistentVolumeClaim/\S+ Normal FailedBinding`, allot: `()`,
	},
	{
		why:   "pod-template-generation, which apps/v1 has not used since 1.9, is neither written nor read (DIFFERENCES.md)",
		where: `Pod/.+ metadata\.labels\.pod-template-generation`, allot: `()`,
	},
	{
		why:       "of nodes whose daemon pods are alike, which one is updated first is undefined in 1.37 too",
		scenarios: `daemonset-(rolling|surge)`,
		where:     `Pod/agent-#\d+ spec\.(nodeName|affinity\..*values\[0\])`, upstream: `NAMESPACE-.`, allot: `NAMESPACE-.`, chance: true,
	},
	{
		why: "how many steps a rollout takes depends on how many pods become ready between two syncs of the Deployment, " +
			"in 1.37 too",
		scenarios: `deployment-.*`,
		where:     `ReplicaSet/\S+ \d+\} (metadata\.generation|status\.observedGeneration)`, upstream: `\d+`, allot: `\d+`, chance: true,
	},
	{
		why:       "no event reports that the owner references of a volume claim changed: nothing happens to it yet",
		scenarios: `statefulset-.*`, where: `Event/StatefulSet/\S+ Normal SuccessfulUpdate`, allot: `()`,
	},
}

// table is the entries with what the scenarios have used of them.
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
		if e.scenarios.MatchString(d.Scenario) && e.where.MatchString(d.Where) && e.upstream.MatchString(d.Upstream) && e.allot.MatchString(d.Allot) {
			return i
		}
	}
	return -1
}

func (t *table) explains(d Difference) bool { return t.find(d) >= 0 }

// use records the entries that explain what was found.
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
