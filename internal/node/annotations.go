package node

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Annotations of pods and nodes for the simulation.
const (
	// AnnotationRunFor is the run time of a pod's containers, such as "5s". Without it, and without
	// an exit code, they run until they are stopped.
	AnnotationRunFor = "allot.dev/run-for"
	// AnnotationExitCode is the exit code of containers that end by themselves; default 0.
	AnnotationExitCode = "allot.dev/exit-code"
	// AnnotationStopFor is the time that the containers take to stop. After the grace period they
	// are killed.
	AnnotationStopFor = "allot.dev/stop-for"
	// AnnotationKillFor is the time that the containers take to end when they are killed, to
	// simulate containers blocked by a device. Default 0.
	AnnotationKillFor = "allot.dev/kill-for"
	// AnnotationDevices is written by the agent: the IDs of the CDI devices that DRA drivers have
	// prepared for each container, such as {"main":["vendor.com/gpu=0"]}.
	AnnotationDevices = "allot.dev/cdi-devices"
	// AnnotationStopped with the value "true" on a Node simulates a machine with a failed node
	// agent.
	AnnotationStopped = "allot.dev/stopped"
)

// script holds the values of a pod's annotations.
type script struct {
	ends     bool // the containers end by themselves
	runFor   time.Duration
	exitCode int32
	stopFor  time.Duration
	killFor  time.Duration
}

func readScript(annotations map[string]string, stopFor time.Duration) (script, error) {
	if err := checkNames(annotations); err != nil {
		return script{}, err
	}
	s := script{stopFor: stopFor}
	if text, ok := annotations[AnnotationRunFor]; ok {
		d, err := duration(AnnotationRunFor, text)
		if err != nil {
			return script{}, err
		}
		s.ends, s.runFor = true, d
	}
	if text, ok := annotations[AnnotationExitCode]; ok {
		code, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return script{}, fmt.Errorf("annotation %s: %q is no exit code (0 to 255)", AnnotationExitCode, text)
		}
		s.ends, s.exitCode = true, int32(code)
	}
	if text, ok := annotations[AnnotationStopFor]; ok {
		d, err := duration(AnnotationStopFor, text)
		if err != nil {
			return script{}, err
		}
		s.stopFor = d
	}
	if text, ok := annotations[AnnotationKillFor]; ok {
		d, err := duration(AnnotationKillFor, text)
		if err != nil {
			return script{}, err
		}
		s.killFor = d
	}
	return s, nil
}

// checkNames returns an error for unknown annotations of allot's domain, which are probably
// misspelled.
func checkNames(annotations map[string]string) error {
	known := []string{AnnotationRunFor, AnnotationExitCode, AnnotationStopFor, AnnotationKillFor}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(name, "allot.dev/") && name != AnnotationDevices && !slices.Contains(known, name) {
			return fmt.Errorf("annotation %s is unknown; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func duration(annotation, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("annotation %s: %q is no duration such as 5s", annotation, text)
	}
	return d, nil
}
