package alloc

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Kind is the check that failed.
type Kind string

// Kinds that do not depend on the node come first.
const (
	ClassMissing  Kind = "class missing"
	SelectorError Kind = "selector error"
	Unsupported   Kind = "unsupported"
	TooMany       Kind = "too many"
	Shortage      Kind = "shortage"
	Conflict      Kind = "conflict"
)

// Reason describes why claims cannot be allocated.
type Reason struct {
	Kind     Kind
	Requests []RequestRef // requests concerned

	Class string // ClassMissing; SelectorError and Unsupported in a class
	Field string // Unsupported: path in the claim or class
	// Feature is the disabled feature that Field needs, or "".
	Feature string
	Value   string // Unsupported: unknown value of Field; "" if the field itself is unknown

	// SelectorError. Selector is the index within the class or request.
	Device      model.DeviceID
	Selector    int
	Expression  string
	Message     string
	Hint        string // field that the device has in place of the one that the expression reads
	CostLimited bool   // the expression was not evaluated because of its cost
	Attribute   string // set if the expression is that of a derived attribute, not a selector

	// Shortage on one node: devices wanted by all Requests, devices that match the selectors, and
	// matching devices that are available.
	Wanted, Match, Free int
	Shares              bool     // some free devices can be shared
	All                 bool     // allocationMode All; Wanted is the minimum
	Holders             []Holder // matching devices that are held; at most maxListed
	// matching devices allocated to claims in the same trial; at most maxListed
	TrialDevices []model.DeviceID
	// other matching devices that cannot be allocated; at most maxListed
	Unavailable []Unavailable
	Pools       []string // unusable pools, with the reason
	Reachable   int      // number of devices the node can reach, matching or not
	// largest number of leading selectors that one device matches; set together with SelectorMisses
	SelectorsPassed int
	// selectors that devices do not match; set if too few match although no pool is unusable
	SelectorMisses   []SelectorMiss
	ExhaustedCounter string // counter that alone has too little left for the wanted devices
	// TooMany, and Conflict of alternatives: number of configuration entries; 0 if they are within
	// the limit
	ConfigEntries int

	// Conflict on one node: constraints that the free devices do not satisfy, or requests whose
	// alternatives cannot be combined.
	Constraints []ConstraintMiss
}

// ConstraintMiss describes a constraint that cannot be satisfied.
type ConstraintMiss struct {
	Attribute string
	Distinct  bool
	Wanted    int          // number of devices
	Best      int          // largest number of devices that satisfy the constraint
	Groups    []ValueGroup // available devices by value, the largest group first; at most maxListed
}

// ValueGroup is a set of devices with the same value of an attribute, or without the attribute.
type ValueGroup struct {
	Value   string // prefixed with its type; or "not set"
	Devices []model.DeviceID
	More    int // number of devices not listed
}

// RequestRef identifies a request of a claim.
type RequestRef struct {
	Claim   model.Key
	Request string
	// Set for a claim that implements extended resources, which users do not see: the resource and
	// its DeviceClass.
	Extended corev1.ResourceName
	Class    string
}

// Holder is a device with what holds it.
type Holder struct {
	Device model.DeviceID
	By     model.Holder
}

// Unavailable is a device that cannot be allocated, with the reason.
type Unavailable struct {
	Device model.DeviceID
	Reason string
}

// SelectorMiss counts the devices that match all earlier selectors but not this one.
type SelectorMiss struct {
	Class              string // "" for a selector of the request
	Expression         string
	Missed, Candidates int
	Devices            []model.DeviceID // devices that do not match; at most maxListed
}

// isSame reports whether two counts are of the same selector.
func (m SelectorMiss) isSame(other SelectorMiss) bool {
	return m.Class == other.Class && m.Expression == other.Expression && m.Missed == other.Missed &&
		m.Candidates == other.Candidates
}

func (m SelectorMiss) String() string {
	where := "the request"
	if m.Class != "" {
		where = "class " + m.Class
	}
	return fmt.Sprintf("%s drops %d of %d: %s", where, m.Missed, m.Candidates, shorten(m.Expression))
}

// shorten returns an expression in one line, truncated to maxExpression.
func shorten(expression string) string { return truncate(expression, maxExpression) }

// truncate returns a text in one line of at most that many characters.
func truncate(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}

const (
	maxExpression = 80
	maxMessage    = 160

	maxListed      = 8
	maxListedShort = 3
)

// featureReason returns the reason for a claim that needs a disabled feature or has an unknown
// field.
func featureReason(claim *model.Claim) *Reason {
	r := &Reason{
		Kind:    Unsupported,
		Field:   claim.Unsupported.Field,
		Feature: claim.Unsupported.Feature,
		Value:   claim.Unsupported.Value,
	}
	for _, request := range claim.Unsupported.Requests {
		r.Requests = append(r.Requests, RequestRef{Claim: claim.Key, Request: request})
	}
	return r
}

// NodeIndependent reports whether the reason is the same on all nodes.
func (r *Reason) NodeIndependent() bool {
	return r.Kind == ClassMissing || r.Kind == SelectorError || r.Kind == Unsupported || r.Kind == TooMany
}

// IsCloser reports whether the node of this reason comes closer to serving the requests than that
// of the other reason. If no device matches, unusable pools count, because they may have matching
// devices, and then the number of selectors passed.
func (r *Reason) IsCloser(than *Reason) bool {
	if order := cmp.Or(cmp.Compare(r.Free, than.Free), cmp.Compare(r.Match, than.Match)); order != 0 || r.Match > 0 {
		return order > 0
	}
	return cmp.Or(
		cmp.Compare(r.unusablePools(), than.unusablePools()),
		cmp.Compare(r.SelectorsPassed, than.SelectorsPassed),
		cmp.Compare(r.Reachable, than.Reachable),
	) > 0
}

// unusablePools returns the number of unusable pools. For allocationMode All it is 0, because every
// pool is required.
func (r *Reason) unusablePools() int {
	if r.All {
		return 0
	}
	return len(r.Pools)
}

// Topics returns the changes that can resolve the reason.
func (r *Reason) Topics() []model.Topic {
	var topics []model.Topic
	for _, asked := range r.Requests {
		topic := model.Topic{Kind: model.TopicClaim, Key: asked.Claim}
		if len(topics) == 0 || topics[len(topics)-1] != topic {
			topics = append(topics, topic)
		}
	}
	if r.Class != "" {
		topics = append(topics, model.Topic{Kind: model.TopicClass, Key: model.Key{Name: r.Class}})
	}
	if r.Kind != ClassMissing && r.Kind != Unsupported && r.Kind != TooMany {
		topics = append(topics, model.Topic{Kind: model.TopicDevices})
	}
	return topics
}

// Subject names the claims and requests concerned, for example "claim ns/c request a, b" or
// "extended resource example.com/gpu (DeviceClass gpu)".
func (r *Reason) Subject() string {
	var b strings.Builder
	var last model.Key
	for i, asked := range r.Requests {
		if asked.Extended != "" {
			if i == 0 || r.Requests[i-1].Extended != asked.Extended {
				fmt.Fprintf(&b, "%sextended resource %s (DeviceClass %s)", separator(i), asked.Extended, asked.Class)
			}
			continue
		}
		switch {
		case i > 0 && asked.Claim == last:
			b.WriteString(", " + asked.Request)
		default:
			fmt.Fprintf(&b, "%sclaim %s request %s", separator(i), asked.Claim, asked.Request)
		}
		last = asked.Claim
	}
	return b.String()
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return "; "
}

// String returns the reason in one line, with holders and pools.
func (r *Reason) String() string {
	switch r.Kind {
	case ClassMissing:
		return fmt.Sprintf("%s: device class %s does not exist", r.Subject(), r.Class)
	case SelectorError:
		return r.Subject() + ": " + r.selectorError()
	case Unsupported:
		if r.Feature != "" {
			return fmt.Sprintf("%s: %s needs the feature %s, which is off", r.Subject(), r.Field, r.Feature)
		}
		return r.Subject() + ": " + r.unknownField()
	case TooMany:
		if r.ConfigEntries > 0 {
			return r.Subject() + ": " + r.configLimit()
		}
		return fmt.Sprintf("%s: %d devices wanted, a claim can have %d", r.Subject(), r.Wanted, maxDevices)
	}
	return r.Subject() + ": " + r.Comparison() + r.Details()
}

// Comparison compares what was wanted with what the node has.
func (r *Reason) Comparison() string {
	if r.Kind == Conflict {
		return r.conflict()
	}
	if r.All {
		return r.countAll()
	}
	return r.count()
}

func (r *Reason) count() string {
	devices := "devices"
	if r.Wanted == 1 {
		devices = "device"
	}
	if r.Shares && len(r.Requests) == 1 && r.Match < r.Wanted {
		return fmt.Sprintf("%d %s wanted, %d match, and a request can have one part of each", r.Wanted, devices, r.Match)
	}
	if r.Shares {
		return fmt.Sprintf("%d %s or parts wanted, %d match, with too little left for all", r.Wanted, devices, r.Match)
	}
	if r.Free >= r.Wanted {
		return fmt.Sprintf("%d %s wanted, %d free, but not beside each other", r.Wanted, devices, r.Free)
	}
	if r.Free == r.Match {
		return fmt.Sprintf("%d %s wanted, %d match", r.Wanted, devices, r.Match)
	}
	return fmt.Sprintf("%d %s wanted, %d match, %d free", r.Wanted, devices, r.Match, r.Free)
}

// Details lists holders, unavailable devices, unusable pools and differing values.
func (r *Reason) Details() string {
	return r.details(maxListed, model.Holder.String)
}

// ShortDetails returns Details for users of the pod: a few entries of each kind, without names of
// claims in other namespaces.
func (r *Reason) ShortDetails() string {
	return r.details(maxListedShort, func(by model.Holder) string {
		switch {
		case by.Kind == model.ByQuarantine:
			return "" // the scheduler lists these devices
		case by.Claim.Namespace == r.Requests[0].Claim.Namespace:
			return by.String()
		case by.Kind == model.ByReservation:
			return "reserved in another namespace"
		}
		return "held in another namespace"
	})
}

// details lists up to limit entries of each kind. holder describes what holds a device, or returns
// "" to omit the device.
func (r *Reason) details(limit int, holder func(by model.Holder) string) string {
	var missing, holders, inTrial, unavailable []string
	if r.Wanted > 0 && r.Reachable == 0 && len(r.Pools)+len(r.Constraints) == 0 {
		missing = append(missing, "there are no devices")
	}
	for _, drop := range r.SelectorMisses {
		missing = append(missing, drop.String())
	}
	if r.ExhaustedCounter != "" {
		missing = append(missing, r.ExhaustedCounter)
	}
	for _, h := range r.Holders {
		if by := holder(h.By); by != "" {
			holders = append(holders, fmt.Sprintf("%s is %s", h.Device, by))
		}
	}
	for _, device := range r.TrialDevices {
		inTrial = append(inTrial, fmt.Sprintf("%s goes to another pod of the group", device))
	}
	for _, b := range r.Unavailable {
		unavailable = append(unavailable, fmt.Sprintf("%s %s", b.Device, b.Reason))
	}
	var parts []string
	for _, kind := range [][]string{missing, holders, inTrial, unavailable, r.Pools, r.valueGroups()} {
		if len(kind) > limit {
			kind = append(kind[:limit:limit], "and more")
		}
		parts = append(parts, kind...)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// valueGroups lists the values of the attributes that constraints compare.
func (r *Reason) valueGroups() []string {
	var list []string
	for i := range r.Constraints {
		if r.listedBefore(i) {
			continue
		}
		for g := range r.Constraints[i].Groups {
			group := r.Constraints[i].Groups[g].String()
			if g == 0 {
				group = r.Constraints[i].Attribute + " is " + group
			}
			list = append(list, group)
		}
	}
	return list
}

// listedBefore reports whether an earlier constraint lists the same values.
func (r *Reason) listedBefore(constraint int) bool {
	for i := range constraint {
		if r.Constraints[i].Attribute == r.Constraints[constraint].Attribute &&
			reflect.DeepEqual(r.Constraints[i].Groups, r.Constraints[constraint].Groups) {
			return true
		}
	}
	return false
}

func (r *Reason) countAll() string {
	text := fmt.Sprintf("all devices wanted, %d match", r.Match)
	if len(r.Requests) > 1 {
		text = fmt.Sprintf("all devices wanted, and more beside them, %d match", r.Match)
	}
	switch {
	case r.Match > maxDevices:
		text += fmt.Sprintf(", a claim can have %d", maxDevices)
	case r.Free < r.Match:
		text += fmt.Sprintf(", %d free", r.Free)
	case r.Free > 0 && len(r.Requests) == 1 && len(r.Pools) == 0:
		text += ", but not beside each other"
	}
	return text
}

func (r *Reason) conflict() string {
	switch {
	case len(r.Constraints) == 0 && r.ConfigEntries > 0:
		return "no alternatives fit together, nor the last ones: " + r.configLimit()
	case len(r.Constraints) == 0 && r.Wanted == 0:
		return "there are no devices for all requests together"
	case len(r.Constraints) == 0 && r.All:
		return "no alternatives fit together, nor the last ones: " + r.countAll()
	case len(r.Constraints) == 0:
		return "no alternatives fit together, nor the last ones: " + r.count()
	}
	var parts []string
	times := map[string]int{}
	together := true
	for i := range r.Constraints {
		part := r.Constraints[i].String()
		if times[part]++; times[part] == 1 {
			parts = append(parts, part)
		}
		together = together && r.Constraints[i].Best >= r.Constraints[i].Wanted
	}
	for i, part := range parts {
		if times[part] > 1 {
			parts[i] = fmt.Sprintf("%s (%d constraints)", part, times[part])
		}
	}
	text := strings.Join(parts, "; ")
	if together {
		text += "; this cannot be met together"
	}
	return text
}

// selectorError describes the failed expression. The cause comes first because the expression can
// be long.
func (r *Reason) selectorError() string {
	what := fmt.Sprintf("selector %d", r.Selector)
	if r.Attribute != "" {
		what = "derived attribute " + r.Attribute
	}
	if r.Class != "" {
		what = "class " + r.Class + ": " + what
	}
	if r.CostLimited {
		what += " " + r.Message
	} else {
		what += fmt.Sprintf(" fails on device %s: %s", r.Device, truncate(r.Message, maxMessage))
	}
	if r.Hint != "" {
		what += " (" + r.Hint + ")"
	}
	return what + ": " + shorten(r.Expression)
}

// unknownField describes the field of the claim or class that this version does not know.
func (r *Reason) unknownField() string {
	field := r.Field
	if r.Class != "" {
		field = fmt.Sprintf("device class %s: %s", r.Class, field)
	}
	if r.Value != "" {
		field += fmt.Sprintf(" %q", r.Value)
	}
	return field + " is not known to this version of allot"
}

func (r *Reason) configLimit() string {
	return fmt.Sprintf("the claim and its device classes have %d configuration entries, an allocation can have %d",
		r.ConfigEntries, maxConfig)
}

func (m *ConstraintMiss) String() string {
	if m.Distinct {
		return fmt.Sprintf("%d devices wanted with different %s, %s", m.Wanted, m.Attribute,
			plural(m.Best, "value exists", "values exist"))
	}
	return fmt.Sprintf("%d devices wanted with the same %s, at most %s one", m.Wanted, m.Attribute,
		plural(m.Best, "has", "have"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (g *ValueGroup) String() string {
	names := make([]string, len(g.Devices))
	for i := range g.Devices {
		names[i] = g.Devices[i].String()
	}
	text := g.Value + ": " + strings.Join(names, ", ")
	if g.More > 0 {
		text += fmt.Sprintf(" and %d more", g.More)
	}
	return text
}
