package picture

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Span is the length of a Timeline.
	Span = 15 * time.Minute
	// sampleEvery is the time between two samples.
	sampleEvery = 5 * time.Second
	// maxMoments limits the moments of a Timeline.
	maxMoments = 200
)

// Timeline lists the events of the last minutes.
type Timeline struct {
	Samples []Sample // oldest first
	Moments []Moment // oldest first
}

// Sample counts devices and waiting units at a time.
type Sample struct {
	// Time is a multiple of sampleEvery.
	Time    metav1.Time         `json:"time"`
	Devices map[DeviceState]int `json:"devices"`
	Waiting int                 `json:"waiting"` // units
}

// Moment is something that happened.
type Moment struct {
	// Number identifies the moment; it increases.
	Number int         `json:"number"`
	Time   metav1.Time `json:"time"`
	What   string      `json:"what"`
	// Subject is the object of the event; nil if the event is about several objects.
	Subject *Ref `json:"subject,omitempty"`
}

// next returns the timeline that includes what is different between two Pictures.
func (t *Timeline) next(before, now *Picture) Timeline {
	next := Timeline{Samples: t.withSample(now), Moments: t.Moments}
	number := 0
	if n := len(t.Moments); n > 0 {
		number = t.Moments[n-1].Number
	}
	for _, moment := range momentsBetween(before, now) {
		number++
		moment.Number = number
		// Earlier Pictures share the beginning of the list.
		next.Moments = append(slices.Clip(next.Moments), moment)
	}
	oldest := now.Taken.Add(-Span)
	for len(next.Moments) > maxMoments || len(next.Moments) > 0 && next.Moments[0].Time.Time.Before(oldest) {
		next.Moments = next.Moments[1:]
	}
	return next
}

// withSample returns the samples with one of the Picture, which replaces an earlier one of the same
// time.
func (t *Timeline) withSample(now *Picture) []Sample {
	sample := Sample{Time: metav1.NewTime(now.Taken.Truncate(sampleEvery)), Devices: map[DeviceState]int{}}
	for _, node := range now.Nodes {
		count(sample.Devices, node.Devices)
	}
	for _, pool := range now.Pools {
		count(sample.Devices, pool.Devices)
	}
	for _, unit := range now.Units {
		if unit.State == Waiting || unit.State == PartlyPlaced {
			sample.Waiting++
		}
	}
	samples := t.Samples
	if n := len(samples); n > 0 && !samples[n-1].Time.Before(&sample.Time) {
		samples = samples[:n-1]
	}
	oldest := now.Taken.Add(-Span)
	for len(samples) > 0 && samples[0].Time.Time.Before(oldest) {
		samples = samples[1:]
	}
	return append(slices.Clip(samples), sample)
}

func count(counts map[DeviceState]int, devices []Device) {
	for i := range devices {
		counts[devices[i].State]++
	}
}

// samplesSince returns the samples that an earlier timeline lacks, or has in an earlier form.
func (t *Timeline) samplesSince(before *Timeline) []Sample {
	if len(before.Samples) == 0 {
		return t.Samples
	}
	last := before.Samples[len(before.Samples)-1].Time
	for i := range t.Samples {
		if !t.Samples[i].Time.Before(&last) {
			return t.Samples[i:]
		}
	}
	return nil
}

// momentsSince returns the moments that an earlier timeline lacks.
func (t *Timeline) momentsSince(before *Timeline) []Moment {
	if len(before.Moments) == 0 {
		return t.Moments
	}
	last := before.Moments[len(before.Moments)-1].Number
	for i := range t.Moments {
		if t.Moments[i].Number > last {
			return t.Moments[i:]
		}
	}
	return nil
}
