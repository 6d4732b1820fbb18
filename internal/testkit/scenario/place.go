package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// unit returns the unit of a name: the tree or group with this name, or that of the pod, or the pod.
func (s *Scenario) unit(name string) model.UnitKey {
	if pod, ok := s.state.Pods.Get(key(name)); ok {
		return s.state.UnitOfPod(pod)
	}
	if _, ok := s.state.Groups.Composites.Get(key(name)); ok {
		return model.UnitKey{Tree: true, Key: key(name)}
	}
	return s.state.UnitOfGroup(key(name))
}

// place handles the command place NAME [short]: it prints the plan or the reasons of a unit.
func (s *Scenario) place(l *line.Line) (string, error) {
	before := s.state.Dump()
	short := l.Has("short")
	plan, reasons := s.placer.Try(s.unit(l.Name()))
	if after := s.state.Dump(); before != after {
		return "", fmt.Errorf("the trial has left traces:\n%s\nwas:\n%s", after, before)
	}
	out := ""
	if plan != nil {
		out += printPlan(plan)
	}
	if reasons != nil {
		out += printReasons(reasons, short)
	}
	if l.Has("topics") && reasons != nil {
		for _, topic := range reasons.Topics() {
			out += fmt.Sprintf("waits for %s\n", topic)
		}
	}
	if out == "" {
		return "nothing waits\n", nil
	}
	return out, nil
}

func printReasons(r *sched.Reasons, short bool) string {
	text := r.String()
	if short {
		text = r.Short()
	}
	return fmt.Sprintf("%s: %s\n", r.Code, text)
}

func printPlan(p *plan.Plan) string {
	var b strings.Builder
	if p.Whole {
		fmt.Fprintf(&b, "plan for the whole %s\n", p.Unit)
	} else {
		fmt.Fprintf(&b, "plan for a part of %s\n", p.Unit)
	}
	for i := range p.Claims {
		claim := &p.Claims[i]
		fmt.Fprintf(&b, "  claim %s", claim.Key.Name)
		if claim.Make != nil {
			b.WriteString(" is made and")
		}
		if claim.Allocation != nil {
			b.WriteString(" gets")
			b.WriteString(printAllocation(claim.Allocation))
		}
		for _, consumer := range claim.Reserve {
			fmt.Fprintf(&b, " for %s/%s", consumer.Resource, consumer.Name)
		}
		if claim.Allocation != nil && claim.Allocation.ReservedForAnyPod {
			b.WriteString(" and any pod")
		}
		b.WriteByte('\n')
	}
	// Of three or more pods on one node, only the first and the last are printed.
	for from := 0; from < len(p.Pods); {
		to := from
		for to+1 < len(p.Pods) && p.Pods[to+1].Node == p.Pods[from].Node {
			to++
		}
		if to-from < 3 {
			to = from
			fmt.Fprintf(&b, "  pod %s -> %s%s%s\n", p.Pods[from].Pod.Name, p.Pods[from].Node, printDraws(p.Pods[from].Draws),
				printMappings(p.Pods[from].Extended))
		} else {
			fmt.Fprintf(&b, "  pod %s to %s (%d) -> %s\n", p.Pods[from].Pod.Name, p.Pods[to].Pod.Name, to-from+1,
				p.Pods[from].Node)
		}
		from = to + 1
	}
	return b.String()
}

// printMappings formats which request of a claim provides each container's extended resource.
func printMappings(status *corev1.PodExtendedResourceClaimStatus) string {
	if status == nil {
		return ""
	}
	text := " with " + status.ResourceClaimName
	for _, m := range status.RequestMappings {
		text += fmt.Sprintf(" %s:%s=%s", m.ContainerName, m.ResourceName, m.RequestName)
	}
	return text
}

// printDraws formats what a pod uses of its node's own resources, and through which claims.
func printDraws(draws []model.Draw) string {
	if len(draws) == 0 {
		return ""
	}
	var names []string
	for i := range draws {
		names = append(names, draws[i].ResourceClaimName)
	}
	drawn := model.Drawn(draws)
	text := " drawing"
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		text += fmt.Sprintf(" %d %s", drawn[name], name)
	}
	return text + " through " + strings.Join(names, ", ")
}

func printAllocation(a *model.Allocation) string {
	var b strings.Builder
	for _, device := range a.Devices {
		fmt.Fprintf(&b, " %s=%s", device.Request, model.DeviceIDOf(device))
		if device.AdminAccess != nil {
			b.WriteString("+admin")
		}
		for _, name := range slices.Sorted(maps.Keys(device.ConsumedCapacity)) {
			amount := device.ConsumedCapacity[name]
			fmt.Fprintf(&b, "+%s:%s", name, amount.String())
		}
		for _, condition := range device.BindingConditions {
			b.WriteString("+waits:" + condition)
		}
		for _, condition := range device.BindingFailureConditions {
			b.WriteString("+fails:" + condition)
		}
		for _, t := range device.Tolerations {
			fmt.Fprintf(&b, "+tolerates:%s", strings.TrimSpace(t.Key+" "+string(t.Operator)))
		}
	}
	for _, config := range a.Config {
		fmt.Fprintf(&b, " config:%s:%s", config.Source, config.Opaque.Driver)
		if len(config.Requests) > 0 {
			fmt.Fprintf(&b, ":%s", strings.Join(config.Requests, ","))
		}
	}
	if a.NodeSelector != nil {
		term := a.NodeSelector.NodeSelectorTerms[0]
		for _, r := range append(term.MatchFields, term.MatchExpressions...) {
			fmt.Fprintf(&b, " [%s %s %s]", r.Key, r.Operator, strings.Join(r.Values, ","))
		}
	}
	return b.String()
}

// runQueue handles the command run: it places units from the queue until none is left to try.
func (s *Scenario) runQueue(l *line.Line) (string, error) {
	return s.drain(!l.Has("quiet"))
}

func (s *Scenario) drain(loud bool) (string, error) {
	out := ""
	for {
		entry, ok := s.queue.Pop()
		if !ok {
			return out, nil
		}
		unit, ok := s.state.Unit(entry.Key)
		if !ok {
			continue
		}
		plan, reasons := s.placer.PlaceSlice(unit, entry.Slice)
		if reasons != nil && reasons.Unfinished {
			s.queue.Add(entry.Deferred())
			continue
		}
		entry.Slice = 0
		if plan != nil {
			if loud {
				out += printPlan(plan)
			}
			s.queue.Wake(s.state.Nominations.Delete(entry.Key))
			plan.Assume(s.state)
			if err := s.check(); err != nil {
				return out, err
			}
			if err := s.commit(plan); err != nil {
				return out, err
			}
			if entry.Key.Tree {
				for _, below := range s.state.UnitsBelow(entry.Key.Key) {
					s.enqueue(below)
				}
			}
		}
		if reasons != nil {
			if loud {
				out += entry.Key.String() + ": " + printReasons(reasons, true)
			}
			s.queue.ParkUntil(entry, reasons.Topics(), func(topic model.Topic) bool { return reasons.Helps(s.state, topic) })
		}
	}
}

// commit writes the plan and shows the result as the API would.
func (s *Scenario) commit(plan *plan.Plan) error {
	for i := range plan.Claims {
		p := &plan.Claims[i]
		claim := s.claims[p.Key].DeepCopy()
		if p.Make != nil {
			claim = s.madeClaim(p)
		}
		if p.Allocation != nil {
			claim.Status.Allocation = p.Allocation.Result()
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, p.Reserve...)
		s.putClaim(claim)
	}
	for _, placement := range plan.Pods {
		l := s.pods[placement.Pod]
		l.Set("on", placement.Node)
		s.draws[placement.Pod] = placement.Draws
		s.extended[placement.Pod] = placement.Extended
		if err := s.pod(l); err != nil {
			return err
		}
	}
	return nil
}

// madeClaim returns the claim that a plan creates, as the API shows it.
func (s *Scenario) madeClaim(p *plan.Claim) *resource.ResourceClaim {
	claim := p.Make.ForExtended(p.Reserve[0])
	meta := s.meta("claim", claim.Name)
	claim.UID, claim.CreationTimestamp = meta.UID, meta.CreationTimestamp
	s.putClaim(claim)
	return claim.DeepCopy()
}

// repeat handles the command repeat N: it runs the input lines and then the queue N times, and
// prints the last result.
func (s *Scenario) repeat(l *line.Line) (string, error) {
	times, err := strconv.Atoi(l.Name())
	if err != nil {
		return "", err
	}
	out := ""
	for range times {
		if err := line.Run(l.Input, s.verbs()); err != nil {
			return out, err
		}
		if out, err = s.drain(true); err != nil {
			return out, err
		}
	}
	return out, nil
}

// update handles update pod=NAME ARGUMENT…: it puts the pod again with these arguments added, or
// removed if the value is "-".
func (s *Scenario) update(l *line.Line) error {
	name := l.Text("pod", "")
	old, ok := s.pods[key(name)]
	if !ok {
		return fmt.Errorf("no pod %q", name)
	}
	old.Add(l)
	return s.pod(old)
}

// setSteps handles the command steps N: the step limit of the following placements.
func (s *Scenario) setSteps(l *line.Line) (string, error) {
	steps, err := strconv.Atoi(l.Name())
	if err != nil {
		return "", err
	}
	s.placer = sched.NewPlacer(s.state, steps)
	return "", nil
}

// print handles the command state: it prints nodes with their pods, and claims with their devices.
func (s *Scenario) print(*line.Line) (string, error) {
	var b strings.Builder
	for _, info := range s.state.Nodes.List() {
		names := podNames(info.Pods)
		shown := strings.Join(names, " ")
		if len(names) > 6 {
			shown = fmt.Sprintf("%s to %s (%d)", names[0], names[len(names)-1], len(names))
		}
		fmt.Fprintf(&b, "node %s: %s\n", info.Name, shown)
	}
	for _, k := range s.claimKeys() {
		claim, _ := s.state.Claims.Get(k)
		if claim.Allocation == nil {
			fmt.Fprintf(&b, "claim %s: not allocated\n", k.Name)
			continue
		}
		fmt.Fprintf(&b, "claim %s:%s for %d consumers\n", k.Name, printAllocation(claim.Allocation), len(claim.Consumers))
	}
	ready, parked := s.queue.Len()
	fmt.Fprintf(&b, "queue: %d to try, %d parked\n", ready, parked)
	return b.String(), nil
}
