package scenario

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// drawLines are changes of a small cluster, in the scenario language.
func drawLines(t *rapid.T, s *Scenario) []string {
	n := rapid.IntRange(0, 3).Draw(t, "n")
	group := fmt.Sprint("g", n)
	lone := fmt.Sprint("p", n)
	claim := rapid.SampledFrom(
		[]string{
			"",
			" own=o:one",
			" own=o:two",
			" own=o:all",
			" own=o:pair",
			" own=o:some",
			" own=o:watch",
			" own=o:part",
			" own=o:part",
			" use=fabric",
			" use=led",
			" example.com/thing=1",
			" example.com/thing=2 init=example.com/thing=1",
			" own=o:one more=example.com/thing=1 more=deviceclass.resource.kubernetes.io/gpu=1",
		},
	).Draw(t, "claim")
	affinity := rapid.SampledFrom(
		[]string{"", "", " apart=kubernetes.io/hostname:app=a", " near=zone:app=a", " spread=zone:app=a",
			" spread=zone:app=a@soft", " like=zone:app=a", " dislike=zone:app=a", " hostport=80", " mount=data", " mount=once"},
	).Draw(t, "affinity")
	cpu := rapid.IntRange(1, 3).Draw(t, "cpu")
	priority := rapid.SampledFrom([]string{"", "", " priority=5"}).Draw(t, "priority")
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0:
		cordon := rapid.SampledFrom([]string{"", "", " unschedulable"}).Draw(t, "cordon")
		plugin := rapid.SampledFrom([]string{"", "", " example.com/thing=1"}).Draw(t, "plugin")
		return []string{fmt.Sprintf("node n%d cpu=6 label=zone=%c%s%s", n, 'a'+rune(n%2), cordon, plugin)}
	case 1:
		if rapid.Bool().Draw(t, "plain") {
			return []string{fmt.Sprintf("slice n%d driver=gpu node=n%d devices=%d", n, n, cpu)}
		}
		if rapid.IntRange(0, 2).Draw(t, "shared") == 0 {
			return []string{
				fmt.Sprintf(
					"slice n%d driver=gpu node=n%d device=big,even=yes,@shared,@binding=ready,@capacity=memory=3/default=1 device=small,even=yes,@capacity=memory=2",
					n, n,
				),
			}
		}
		if rapid.IntRange(0, 2).Draw(t, "draws") == 0 {
			return []string{
				fmt.Sprintf(
					"slice n%d driver=gpu node=n%d device=ccx,even=yes,@draws=cpu/device=2 device=gpu,even=no,@draws=cpu/pod=1/container=1 device=cut,even=yes,@binds",
					n, n,
				),
			}
		}
		if rapid.Bool().Draw(t, "partitions") {
			return []string{
				fmt.Sprintf(
					"slice n%d driver=gpu node=n%d counters=s/c=2 device=part-0,even=yes,@takes=s/c=2 device=part-1,even=no,@takes=s/c=1 device=part-2,even=no,@takes=s/c=1",
					n, n,
				),
			}
		}
		taint := rapid.SampledFrom([]string{"", ",@taint=t:NoSchedule"}).Draw(t, "taint")
		return []string{
			fmt.Sprintf("slice n%d driver=gpu node=n%d device=gpu-0,even=yes device=gpu-1,even=no%s device=gpu-2,even=yes", n,
				n, taint),
		}
	case 2:
		return []string{fmt.Sprintf("delete slice=n%d", n)}
	case 3, 4:
		if _, there := s.pods[key(lone)]; there {
			return nil
		}
		return []string{fmt.Sprintf("pod %s cpu=%d label=app=a%s%s%s", lone, cpu, claim, affinity, priority)}
	case 5, 6:
		if _, there := s.groups[key(group)]; there {
			return nil
		}
		shared := rapid.SampledFrom([]string{"", " shared=s"}).Draw(t, "shared")
		members := rapid.IntRange(1, 3).Draw(t, "members")
		topology := rapid.SampledFrom([]string{"", "", " topology=zone"}).Draw(t, "topology")
		lines := []string{
			fmt.Sprintf("group %s gang=%d claim=s:one%s%s", group, rapid.IntRange(1, members).Draw(t, "min"), topology,
				priority),
		}
		for i := range members {
			lines = append(lines,
				fmt.Sprintf("pod %s-%d group=%s cpu=%d label=app=a%s%s%s", group, i, group, max(1, cpu-i), shared, claim, affinity))
		}
		return lines
	case 7:
		if _, there := s.pods[key(lone)]; there {
			delete(s.pods, key(lone))
			return []string{"delete pod=" + lone}
		}
	case 8:
		return s.dropGroup(group)
	case 9:
		which := rapid.SampledFrom(
			[]string{
				"any",
				"any device=gpu-0",
				"",
				"driver=gpu",
				"driver=net",
				fmt.Sprint("pool=n", n),
				fmt.Sprintf("driver=gpu pool=n%d device=gpu-2", n),
			},
		).Draw(t, "which")
		return []string{
			fmt.Sprintf("rule r%d %s taint=t:%s", n%2, which,
				rapid.SampledFrom([]string{"None", "NoSchedule", "NoExecute"}).Draw(t, "effect")),
		}
	case 10:
		return []string{fmt.Sprintf("delete rule=r%d", n%2)}
	case 11:
		return s.failNode(fmt.Sprint("n", n))
	case 12:
		return []string{
			rapid.SampledFrom(
				[]string{
					"volume pv match=zone=a",
					"volume pv match=zone=b",
					"volumeclaim data volume=pv bound",
					"volumeclaim data",
					"volume pv driver=csi",
					"csinode n0 csi=0",
					"csinode n0 csi=1",
					"delete csinode=n0",
					"service web select=app=a",
					"service web select=app=b",
					"delete service=web",
				},
			).Draw(t, "volume"),
		}
	}
	return []string{rapid.SampledFrom([]string{
		"class gpu selector='device.driver == \"gpu\"'",
		"class gpu selector='device.driver == \"gpu\"' extended=example.com/thing",
		"class other selector='device.driver == \"net\"' extended=example.com/thing", "delete class=other",
	}).Draw(t, "class")}
}

// failNode takes a node away, and its pods with it.
func (s *Scenario) failNode(name string) []string {
	info, ok := s.state.Nodes.Get(name)
	if !ok {
		return nil
	}
	lines := []string{"delete node=" + name}
	for _, pod := range podNames(info.Pods) {
		if group := s.pods[key(pod)].Text("group", ""); group != "" {
			s.lost[group] = true
		}
		lines = append(lines, "delete pod="+pod)
		delete(s.pods, key(pod))
	}
	return lines
}

// dropGroup deletes a group and its pods.
func (s *Scenario) dropGroup(group string) []string {
	var lines []string
	for _, pod := range s.state.Groups.Members(key(group)) {
		lines = append(lines, "delete pod="+pod.Key.Name)
		delete(s.pods, pod.Key)
	}
	if _, there := s.groups[key(group)]; there {
		delete(s.groups, key(group))
		delete(s.lost, group)
		lines = append(lines, "delete group="+group)
	}
	return lines
}

// Whatever comes and goes: gangs are whole or absent, no device has two holders, no node is
// overfull, and no unit stays parked that could be placed (field cases F10, F67).
func TestNothingIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		setup := "node n0 cpu=4 label=zone=a\nnode n1 cpu=4 label=zone=b\nslice n0 driver=gpu node=n0 devices=2\n" +
			"slice net driver=net all devices=1\nvolume free\nvolumeclaim once volume=free bound once\nclass net selector='device.driver == \"net\"'\nclaim fabric request=r:net\nclaim led request=r:net reservedFor=podgroups/gone\n" +
			"template one request=r:gpu\ntemplate two request=r:gpu:2\n" +
			"template all request=r:gpu:all\ntemplate pair request=r:gpu request=s:gpu match=gpu/even\n" +
			"template some request=r alt=r/pair:gpu:2 alt=r/net:net\ntemplate part request=r:gpu:1+capacity/memory=2\ntemplate watch request=r:gpu:1+admin"
		if err := line.Run(setup, s.verbs()); err != nil {
			t.Fatal(err)
		}
		var log []string
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			lines := drawLines(t, s)
			log = append(log, lines...)
			for _, text := range lines {
				if err := line.Run(text, s.verbs()); err != nil {
					t.Fatalf("%v\n%s", err, strings.Join(log, "\n"))
				}
				s.checkProvided(t, log)
			}
			if rapid.Bool().Draw(t, "later") {
				continue
			}
			if out, err := s.drain(true); err != nil {
				t.Fatalf("%v\n%s\n%s", err, strings.Join(log, "\n"), out)
			}
			s.checkAtRest(t, log)
		}
	})
}

// checkProvided holds after each change: who is on a node has its devices, which no other claim has
// (P1).
func (s *Scenario) checkProvided(t *rapid.T, log []string) {
	if err := errors.Join(s.check(), s.state.AuditClaims()); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(log, "\n"))
	}
}

func (s *Scenario) checkAtRest(t *rapid.T, log []string) {
	s.checkProvided(t, log)
	for k := range s.groups {
		group, _ := s.state.Groups.Get(k)
		if bound := s.state.Groups.Census(k).Bound; bound > 0 && bound < group.MinCount && !s.lost[k.Name] {
			t.Fatalf("%d of %s are bound, %d needed\n%s", bound, k, group.MinCount, strings.Join(log, "\n"))
		}
	}
	units := map[model.UnitKey]bool{}
	for k := range s.pods {
		if pod, ok := s.state.Pods.Get(k); ok {
			units[pod.UnitKey()] = true
		}
	}
	for unit := range units {
		if plan, _ := s.placer.Try(unit); plan != nil {
			t.Fatalf("%s was left alone, but there is a %s%s", unit, printPlan(plan), strings.Join(log, "\n"))
		}
	}
}
