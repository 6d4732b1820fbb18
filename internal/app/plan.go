package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/api"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/offline"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/forecast"
	"github.com/allot-dev/allot/internal/snapshot"
)

// planOptions are the flags of allot plan.
type planOptions struct {
	source
	files    []string
	drain    []string
	taint    []string
	delete   []string
	add      []string
	priority string
	capacity bool
	save     string // file for the state after the plan
	output   string
}

func newPlanCommand(streams Streams, plugin bool) *cobra.Command {
	o := planOptions{source: source{plugin: plugin}}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say what would happen: what would be placed where, evicted, and wait",
		Long: "Say what would happen if manifests were applied, objects deleted, nodes drained or added, or devices tainted: which pods\n" +
			"would be placed where with which devices, which would be evicted, and what would wait and why. It works on allot up, with\n" +
			"allot attach, and on any cluster of Kubernetes 1.34 or later, with the right to list alone. Nothing is written.\n\n" +
			"The exit code is 0 if all that is applied would be placed and no running pod is touched; 2 if pods would wait; 3 if nothing\n" +
			"would wait, but running pods would be moved, evicted or deleted; 1 if there is no answer.",
		Example: "  allot plan -f train.yaml\n" +
			"  allot plan --drain node-7\n" +
			"  allot plan --capacity -f one-gang.yaml --add node-7=4",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := o.run(cmd.Context(), streams)
			if err != nil {
				return fmt.Errorf("plan: %w", err)
			}
			if err := writePlan(plan, streams.Out, o.output); err != nil {
				return fmt.Errorf("plan: %w", err)
			}
			return planVerdict(plan)
		},
	}
	o.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		"manifests to apply: a file, a folder or -; may be given more than once")
	flags.StringArrayVar(&o.drain, "drain", nil, "node to drain")
	flags.StringArrayVar(&o.taint, "taint-device", nil,
		"device to taint, DRIVER/POOL/DEVICE or its last parts, with the effect NoExecute, or :NoSchedule after the name")
	flags.StringArrayVar(&o.delete, "delete", nil, "object to delete, KIND/NAME, with all that it owns")
	flags.StringArrayVar(&o.add, "add", nil,
		"nodes to add, NAME=N: N nodes like the node, or like those of the device pool or node pool, of this name")
	flags.StringVar(&o.priority, "priority", "", "priority of the pods and PodGroups of -f: a number or a PriorityClass")
	flags.BoolVar(&o.capacity, "capacity", false, "say how many copies of -f fit in addition, and what runs out first")
	flags.StringVar(&o.save, "save", "",
		"file to write with the state after the plan, a snapshot for explain and further plans")
	flags.StringVarP(&o.output, "output", "o", "text", "text, json or yaml")
	o.complete(cmd)
	return cmd
}

// check returns an error for flags that contradict each other.
func (o *planOptions) check() error {
	switch {
	case !slices.Contains([]string{"text", "json", "yaml"}, o.output):
		return fmt.Errorf("--output must be text, json or yaml, got %q", o.output)
	case o.capacity && len(o.files) == 0:
		return errors.New("--capacity needs -f")
	case len(o.files)+len(o.drain)+len(o.taint)+len(o.delete)+len(o.add) == 0:
		return errors.New("give what would change: -f, --drain, --taint-device, --delete or --add")
	case o.capacity && o.save != "":
		return errors.New("--capacity has no state to --save")
	case o.priority != "" && len(o.files) == 0:
		return errors.New("--priority needs -f")
	}
	return nil
}

// run returns the Plan of the changes that the flags give.
func (o *planOptions) run(ctx context.Context, streams Streams) (*forecast.Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	changes, err := o.changes()
	if err != nil {
		return nil, err
	}
	server, err := newOfflineServer()
	if err != nil {
		return nil, err
	}
	snap, namespace, err := o.snapshot(ctx, streams.In, true)
	if err != nil {
		return nil, err
	}
	if changes.Priority, err = priorityOf(o.priority, snap.Objects.PriorityClasses); err != nil {
		return nil, err
	}
	notes, err := o.read(&changes, server, namespace, streams)
	if err != nil {
		return nil, err
	}
	forecaster := forecast.New(snap, server)
	forecaster.Namespace = namespace
	predict := forecaster.Plan
	if o.capacity {
		predict = forecaster.Capacity
	}
	plan, err := predict(changes)
	if err != nil {
		return nil, err
	}
	plan.Notes = append(plan.Notes, notes...)
	return plan, o.saveAfter(forecaster, changes, streams)
}

// saveAfter writes the state after the changes, if that is asked for.
func (o *planOptions) saveAfter(forecaster *forecast.Forecaster, changes forecast.Changes, streams Streams) error {
	if o.save == "" {
		return nil
	}
	after, err := forecaster.After(changes)
	if err != nil {
		return err
	}
	return writeSnapshot(after, o.save, streams.Out)
}

// newOfflineServer returns what completes objects as the API server does.
func newOfflineServer() (*offline.Server, error) {
	scheme := api.NewScheme()
	if err := registry.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := registry.AddDefaults(scheme, time.Now); err != nil {
		return nil, err
	}
	return offline.New(scheme)
}

// changes returns the changes of the flags other than -f and --priority.
func (o *planOptions) changes() (forecast.Changes, error) {
	c := forecast.Changes{Drain: o.drain}
	for _, text := range o.add {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if name == "" || err != nil || n < 1 || n > maxAdded {
			return c, fmt.Errorf("--add must be NAME=N with N from 1 to %d, got %q", maxAdded, text)
		}
		c.Add = append(c.Add, forecast.NodesLike{Like: name, Count: n})
	}
	for _, text := range o.delete {
		kind, name, _ := strings.Cut(text, "/")
		if kind == "" || name == "" {
			return c, fmt.Errorf("--delete must be KIND/NAME, got %q", text)
		}
		c.Delete = append(c.Delete, forecast.Ref{Kind: kind, Name: name})
	}
	for _, text := range o.taint {
		device, effect, found := strings.Cut(text, ":")
		taint := forecast.DeviceTaint{Device: device, Effect: resourcev1.DeviceTaintEffect(effect)}
		if !found {
			taint.Effect = resourcev1.DeviceTaintEffectNoExecute
		}
		if device == "" ||
			taint.Effect != resourcev1.DeviceTaintEffectNoExecute && taint.Effect != resourcev1.DeviceTaintEffectNoSchedule {
			return c, fmt.Errorf("--taint-device must be DEVICE, DEVICE:NoExecute or DEVICE:NoSchedule, got %q", text)
		}
		c.Taint = append(c.Taint, taint)
	}
	return c, nil
}

// maxAdded limits the nodes that one --add adds.
const maxAdded = 10_000

// priorityOf returns the priority that a number or the name of a class means, or nil for "".
func priorityOf(text string, classes []*schedulingv1.PriorityClass) (*int32, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no priority is asked for
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		value := int32(n)
		return &value, nil
	}
	for _, class := range classes {
		if class.Name == text {
			return &class.Value, nil
		}
	}
	return nil, fmt.Errorf("--priority must be a number or a PriorityClass, got %q", text)
}

// read adds the manifests of -f to the changes, and returns notes about those that decide nothing.
func (o *planOptions) read(
	c *forecast.Changes, server *offline.Server, namespace string, streams Streams,
) ([]string, error) {
	manifests, skipped, err := cli.ReadManifests(o.files, streams.In)
	if err != nil {
		return nil, err
	}
	notes := skipped
	var failed []error
	for _, m := range cli.InOrder(manifests) {
		data, err := m.Object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Source, err)
		}
		object, err := server.Decode(data)
		what := m.Object.GetKind() + " " + m.Object.GetName()
		switch {
		case errors.Is(err, offline.ErrUnknownKind):
			notes = append(notes, what+": what its controller would create is not known")
			continue
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %s: %w", m.Source, what, err))
			continue
		case !snapshot.Decides(object):
			if createsPods(object) {
				notes = append(notes, what+": the pods that it creates are not part of the plan")
			}
			continue
		}
		if server.Namespaced(object) && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		c.Apply = append(c.Apply, forecast.Manifest{Source: m.Source.String() + ": " + what, Object: object, Patch: data})
	}
	return notes, errors.Join(failed...)
}

// createsPods reports whether an object is of a kind whose pods the forecast does not know.
func createsPods(object client.Object) bool {
	switch object.(type) {
	case *batch.CronJob, *core.ReplicationController:
		return true
	}
	return false
}

func writePlan(plan *forecast.Plan, w io.Writer, output string) error {
	if output == "text" {
		return plan.WriteText(w)
	}
	data, err := json.MarshalIndent(plan, "", "  ")
	if err == nil && output == "yaml" {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(bytes.TrimSpace(data)))
	return err
}

// Exit codes of allot plan.
const (
	exitWaits   = 2
	exitTouches = 3
)

// planVerdict returns an error with the exit code of a plan.
func planVerdict(plan *forecast.Plan) error {
	s := &plan.Summary
	switch {
	case plan.Capacity != nil && plan.Capacity.Copies == 0, s.Waiting > 0, plan.Capacity == nil && len(plan.Problems) > 0:
		return exitError(exitWaits)
	case s.Moved+s.Evicted+s.Deleted > 0:
		return exitError(exitTouches)
	}
	return nil
}
