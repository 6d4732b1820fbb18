package alloc

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Kind says at which check claims failed.
type Kind string

// The kinds from which no other node saves a claim come first.
const (
	ClassMissing  Kind = "class missing"
	SelectorError Kind = "selector error"
	Unsupported   Kind = "unsupported"
	TooMany       Kind = "too many"
	Shortage      Kind = "shortage"
	Conflict      Kind = "conflict"
)

// Reason says why claims cannot be allocated.
type Reason struct {
	Kind  Kind
	Asked []Asked // whose requests are concerned

	Class string // ClassMissing; SelectorError and Unsupported in a class
	Field string // Unsupported: path in the claim or class
	// Feature is what Field would need and is off; "" if there is none.
	Feature string
	Value   string // Unsupported: that of Field, if it is not known; "" if the field itself is not

	// Of a SelectorError. Selector counts from 0 within the class or request.
	Device     model.DeviceID
	Selector   int
	Expression string
	Message    string
	Hint       string // what the device has instead of what the expression reads
	Costly     bool   // it was not evaluated because of its cost
	Attribute  string // the expression derives it, and is no selector

	// Of a Shortage on one node: devices wanted by all that is Asked, how many match the selectors, and how many of
	// these can be given away.
	Wanted, Match, Free int
	Parts               bool             // some that are free can be had in parts
	All                 bool             // all that match are wanted; Wanted is the least that would do
	Held                []Held           // matching devices that other claims have; at most maxHeld
	Ours                []model.DeviceID // matching devices that claims get in the same trial; at most maxHeld
	Barred              []Barred         // other matching devices that cannot be used; at most maxHeld
	Pools               []string         // pools that cannot be used, and why
	Here                int              // devices that the node can use, whatever they are
	Passed              int              // the most selectors, in their order, that some device matches; told with Dropped
	Dropped             []Drop           // which selectors they do not match; told if too few match, and no pool is to blame
	Scarce              string           // a counter that has too little left for all that is wanted, if one alone has
	Config              int              // TooMany, and a Conflict of alternatives: so many configuration entries; 0 if they are not too many

	// Of a Conflict on one node: constraints that free devices do not meet, or requests whose alternatives do not fit
	// together.
	Rules []RuleMiss
}

// RuleMiss says what stands against a constraint.
type RuleMiss struct {
	Attribute string
	Distinct  bool
	Wanted    int          // devices
	Best      int          // the most that agree, or differ
	Groups    []ValueGroup // of the devices that could be had, the largest first; at most maxHeld
}

// ValueGroup are devices with one value of an attribute, or without the attribute.
type ValueGroup struct {
	Value   string // with its type; "not set"
	Devices []model.DeviceID
	More    int // that are not listed
}

// Asked is one request of a claim.
type Asked struct {
	Claim   model.Key
	Request string
	// Of a claim in the place of extended resources, which people do not know: the resource, and who offers it.
	Extended corev1.ResourceName
	Class    string
}

// Held is a device that another claim has.
type Held struct {
	Device model.DeviceID
	By     model.Key
}

// Barred is a device that cannot be given away.
type Barred struct {
	Device model.DeviceID
	Why    string
}

// Drop is how many devices a selector does not match, of those that match the ones before it.
type Drop struct {
	Class       string // "" for a selector of the request
	Expression  string
	Dropped, Of int
}

func (d Drop) String() string {
	where := "the request"
	if d.Class != "" {
		where = "class " + d.Class
	}
	return fmt.Sprintf("%s drops %d of %d: %s", where, d.Dropped, d.Of, shortened(d.Expression))
}

// shortened is an expression in one line, without its end if that is too long.
func shortened(expression string) string { return cut(expression, maxExpression) }

// cut is a text in one line of so many characters at most.
func cut(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

const (
	maxExpression = 80
	maxMessage    = 160

	maxHeld  = 8
	maxBrief = 3
)

// lacking is why a claim that asks for what is off is not allocated.
func lacking(claim *model.Claim) *Reason {
	r := &Reason{Kind: Unsupported, Field: claim.Lacks.Field, Feature: claim.Lacks.Feature, Value: claim.Lacks.Value}
	for _, request := range claim.Lacks.Requests {
		r.Asked = append(r.Asked, Asked{Claim: claim.Key, Request: request})
	}
	return r
}

// EverywhereSame says whether the reason does not depend on the node.
func (r *Reason) EverywhereSame() bool {
	return r.Kind == ClassMissing || r.Kind == SelectorError || r.Kind == Unsupported || r.Kind == TooMany
}

// Nearer says whether more of what is asked for is on a node than where the other reason holds. Where nothing matches, a
// pool that cannot be used may have it, and then a node is the nearer the more selectors are matched there.
func (r *Reason) Nearer(than *Reason) bool {
	if order := cmp.Or(cmp.Compare(r.Free, than.Free), cmp.Compare(r.Match, than.Match)); order != 0 || r.Match > 0 {
		return order > 0
	}
	return cmp.Or(
		cmp.Compare(r.hopes(), than.hopes()),
		cmp.Compare(r.Passed, than.Passed),
		cmp.Compare(r.Here, than.Here),
	) > 0
}

// hopes are the pools that cannot be used, unless all devices are wanted, which need every pool.
func (r *Reason) hopes() int {
	if r.All {
		return 0
	}
	return len(r.Pools)
}

// Topics are the changes that can make the reason go away.
func (r *Reason) Topics() []model.Topic {
	var topics []model.Topic
	for _, asked := range r.Asked {
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

// Subject names the claims and requests concerned: "claim ns/c request a, b"; or "extended resource example.com/gpu
// (DeviceClass gpu)".
func (r *Reason) Subject() string {
	var b strings.Builder
	var last model.Key
	for i, asked := range r.Asked {
		if asked.Extended != "" {
			if i == 0 || r.Asked[i-1].Extended != asked.Extended {
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

// String is the reason in one line, holders and pools included.
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
		return r.Subject() + ": " + r.unknown()
	case TooMany:
		if r.Config > 0 {
			return r.Subject() + ": " + r.tooMuchConfig()
		}
		return fmt.Sprintf("%s: %d devices wanted, a claim can have %d", r.Subject(), r.Wanted, maxDevices)
	}
	return r.Subject() + ": " + r.Count() + r.Why()
}

// Count is the comparison that was lost on a node.
func (r *Reason) Count() string {
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
	if r.Parts && len(r.Asked) == 1 && r.Match < r.Wanted {
		return fmt.Sprintf("%d %s wanted, %d match, and a request can have one part of each", r.Wanted, devices, r.Match)
	}
	if r.Parts {
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

// Why names what is in the way: holders, devices that cannot be used, unusable pools, values that differ.
func (r *Reason) Why() string {
	return r.inTheWay(maxHeld, func(by model.Key) string { return "by claim " + by.String() })
}

// Brief is Why for whoever may read the pod: a few of each kind, and no claim of another namespace by its name.
func (r *Reason) Brief() string {
	return r.inTheWay(maxBrief, func(by model.Key) string {
		switch by.Namespace {
		case r.Asked[0].Claim.Namespace:
			return "by claim " + by.String()
		case "":
			return "" // a claim that only the caller knows
		}
		return "in another namespace"
	})
}

// inTheWay lists so many of each kind, with the holders as holder puts them, if at all.
func (r *Reason) inTheWay(most int, holder func(by model.Key) string) string {
	var missing, held, ours, barred []string
	if r.Wanted > 0 && r.Here == 0 && len(r.Pools)+len(r.Rules) == 0 {
		missing = append(missing, "there are no devices")
	}
	for _, drop := range r.Dropped {
		missing = append(missing, drop.String())
	}
	if r.Scarce != "" {
		missing = append(missing, r.Scarce)
	}
	for _, h := range r.Held {
		if by := holder(h.By); by != "" {
			held = append(held, fmt.Sprintf("%s is held %s", h.Device, by))
		}
	}
	for _, device := range r.Ours {
		ours = append(ours, fmt.Sprintf("%s goes to another pod of the group", device))
	}
	for _, b := range r.Barred {
		barred = append(barred, fmt.Sprintf("%s %s", b.Device, b.Why))
	}
	var parts []string
	for _, kind := range [][]string{missing, held, ours, barred, r.Pools, r.values()} {
		if len(kind) > most {
			kind = append(kind[:most:most], "and more")
		}
		parts = append(parts, kind...)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// values are those of the attributes that constraints compare.
func (r *Reason) values() []string {
	var list []string
	for i := range r.Rules {
		if r.toldBefore(i) {
			continue
		}
		for g := range r.Rules[i].Groups {
			group := r.Rules[i].Groups[g].String()
			if g == 0 {
				group = r.Rules[i].Attribute + " is " + group
			}
			list = append(list, group)
		}
	}
	return list
}

// toldBefore says whether an earlier rule lists the same values.
func (r *Reason) toldBefore(rule int) bool {
	for i := range rule {
		if r.Rules[i].Attribute == r.Rules[rule].Attribute && reflect.DeepEqual(r.Rules[i].Groups, r.Rules[rule].Groups) {
			return true
		}
	}
	return false
}

func (r *Reason) countAll() string {
	text := fmt.Sprintf("all devices wanted, %d match", r.Match)
	if len(r.Asked) > 1 {
		text = fmt.Sprintf("all devices wanted, and more beside them, %d match", r.Match)
	}
	switch {
	case r.Match > maxDevices:
		text += fmt.Sprintf(", a claim can have %d", maxDevices)
	case r.Free < r.Match:
		text += fmt.Sprintf(", %d free", r.Free)
	case r.Free > 0 && len(r.Asked) == 1 && len(r.Pools) == 0:
		text += ", but not beside each other"
	}
	return text
}

func (r *Reason) conflict() string {
	switch {
	case len(r.Rules) == 0 && r.Config > 0:
		return "no alternatives fit together, nor the last ones: " + r.tooMuchConfig()
	case len(r.Rules) == 0 && r.Wanted == 0:
		return "there are no devices for all requests together"
	case len(r.Rules) == 0 && r.All:
		return "no alternatives fit together, nor the last ones: " + r.countAll()
	case len(r.Rules) == 0:
		return "no alternatives fit together, nor the last ones: " + r.count()
	}
	var parts []string
	times := map[string]int{}
	together := true
	for i := range r.Rules {
		part := r.Rules[i].String()
		if times[part]++; times[part] == 1 {
			parts = append(parts, part)
		}
		together = together && r.Rules[i].Best >= r.Rules[i].Wanted
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

// selectorError names the expression, the cause before its text: that is long.
func (r *Reason) selectorError() string {
	what := fmt.Sprintf("selector %d", r.Selector)
	if r.Attribute != "" {
		what = "derived attribute " + r.Attribute
	}
	if r.Class != "" {
		what = "class " + r.Class + ": " + what
	}
	if r.Costly {
		what += " " + r.Message
	} else {
		what += fmt.Sprintf(" fails on device %s: %s", r.Device, cut(r.Message, maxMessage))
	}
	if r.Hint != "" {
		what += " (" + r.Hint + ")"
	}
	return what + ": " + shortened(r.Expression)
}

// unknown says what of the claim or its class this version does not know.
func (r *Reason) unknown() string {
	field := r.Field
	if r.Class != "" {
		field = fmt.Sprintf("device class %s: %s", r.Class, field)
	}
	if r.Value != "" {
		field += fmt.Sprintf(" %q", r.Value)
	}
	return field + " is not known to this version of allot"
}

func (r *Reason) tooMuchConfig() string {
	return fmt.Sprintf("the claim and its device classes have %d configuration entries, an allocation can have %d", r.Config, maxConfig)
}

func (m *RuleMiss) String() string {
	if m.Distinct {
		return fmt.Sprintf("%d devices wanted with different %s, %s", m.Wanted, m.Attribute, plural(m.Best, "value exists", "values exist"))
	}
	return fmt.Sprintf("%d devices wanted with the same %s, at most %s one", m.Wanted, m.Attribute, plural(m.Best, "has", "have"))
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
