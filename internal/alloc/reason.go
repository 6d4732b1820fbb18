package alloc

import (
	"fmt"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Kind says at which check claims failed.
type Kind string

// The kinds from which no other node saves a claim come first.
const (
	ClassMissing  Kind = "class missing"
	SelectorError Kind = "selector error"
	Unsupported   Kind = "unsupported"
	Shortage      Kind = "shortage"
)

// Reason says why claims cannot be allocated.
type Reason struct {
	Kind  Kind
	Asked []Asked // whose requests are concerned

	Class string // ClassMissing, and SelectorError in a class
	Field string // Unsupported: path in the claim's spec

	// Of a SelectorError. Selector counts from 0 within the class or request.
	Device     model.DeviceID
	Selector   int
	Expression string
	Message    string

	// Of a Shortage on one node: devices wanted by all that is Asked, how many match the selectors, and how many of
	// these can be given away.
	Wanted, Match, Free int
	Held                []Held   // matching devices that other claims have; at most maxHeld
	Barred              []Barred // other matching devices that cannot be used; at most maxHeld
	Pools               []string // pools that cannot be used, and why
}

// Asked is one request of a claim.
type Asked struct {
	Claim   model.Key
	Request string
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

const maxHeld = 8

// EverywhereSame says whether the reason does not depend on the node.
func (r *Reason) EverywhereSame() bool {
	return r.Kind == ClassMissing || r.Kind == SelectorError || r.Kind == Unsupported
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
	if r.Kind != ClassMissing && r.Kind != Unsupported {
		topics = append(topics, model.Topic{Kind: model.TopicDevices})
	}
	return topics
}

// Subject names the claims and requests concerned: "claim ns/c request a, b".
func (r *Reason) Subject() string {
	var b strings.Builder
	var last model.Key
	for i, asked := range r.Asked {
		switch {
		case i > 0 && asked.Claim == last:
			b.WriteString(", " + asked.Request)
		case i > 0:
			b.WriteString("; ")
			fallthrough
		default:
			fmt.Fprintf(&b, "claim %s request %s", asked.Claim, asked.Request)
		}
		last = asked.Claim
	}
	return b.String()
}

// String is the reason in one line, holders and pools included.
func (r *Reason) String() string {
	switch r.Kind {
	case ClassMissing:
		return fmt.Sprintf("%s: device class %s does not exist", r.Subject(), r.Class)
	case SelectorError:
		where := r.Subject()
		if r.Class != "" {
			where += ": class " + r.Class
		}
		return fmt.Sprintf("%s: selector %d (%s) fails on device %s: %s", where, r.Selector, r.Expression, r.Device, r.Message)
	case Unsupported:
		return fmt.Sprintf("%s: %s is not supported yet", r.Subject(), r.Field)
	}
	return r.Subject() + ": " + r.Count() + r.Why()
}

// Count is the comparison that a Shortage lost.
func (r *Reason) Count() string {
	devices := "devices"
	if r.Wanted == 1 {
		devices = "device"
	}
	if r.Free == r.Match {
		return fmt.Sprintf("%d %s wanted, %d match", r.Wanted, devices, r.Match)
	}
	return fmt.Sprintf("%d %s wanted, %d match, %d free", r.Wanted, devices, r.Match, r.Free)
}

// Why names what is in the way: holders, devices that cannot be used, unusable pools.
func (r *Reason) Why() string {
	var parts []string
	for _, held := range r.Held {
		parts = append(parts, fmt.Sprintf("%s is held by claim %s", held.Device, held.By))
	}
	for _, barred := range r.Barred {
		parts = append(parts, fmt.Sprintf("%s %s", barred.Device, barred.Why))
	}
	parts = append(parts, r.Pools...)
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
