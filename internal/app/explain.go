package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

// explainOptions are the flags of allot explain.
type explainOptions struct {
	source
	output string
	watch  bool
}

func newExplainCommand(streams Streams, plugin bool) *cobra.Command {
	o := explainOptions{source: source{plugin: plugin}}
	cmd := &cobra.Command{
		Use:   "explain KIND NAME",
		Short: "Say why a pod waits or is where it is, what holds a device, and what would help",
		Long: "Explain an object of one of the kinds " + strings.Join(explain.Kinds(),
			", ") + ": for what waits, what is missing, how much of it,\n" +
			"who holds it and what would help. It works on allot up, with allot attach, and on any cluster of Kubernetes 1.34 or later,\n" +
			"with the right to list alone: the decision is made again from what the API shows. Nothing is written.",
		Example: "  allot explain pod train-0 -n team-a\n" +
			"  allot explain pod train-0 --snapshot cluster.snapshot",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if kind, name, ok := strings.Cut(args[0], "/"); ok && kind != "" && name != "" {
					return nil
				}
			}
			if len(args) != 2 {
				return fmt.Errorf("give a kind and a name: allot explain %s NAME", strings.Join(explain.Kinds(), "|"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				kind, name, _ := strings.Cut(args[0], "/")
				args = []string{kind, name}
			}
			if err := o.run(cmd.Context(), args[0], args[1], streams); err != nil {
				return fmt.Errorf("explain: %w", err)
			}
			return nil
		},
	}
	o.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "text", "text, json or yaml")
	flags.BoolVarP(&o.watch, "watch", "w", false, "explain again when the answer changes")
	o.complete(cmd, streams)
	return cmd
}

func (o *explainOptions) run(ctx context.Context, word, name string, streams Streams) error {
	kind := explain.KindOf(word)
	switch {
	case kind == "":
		return fmt.Errorf("kind %q cannot be explained; %s can", word, strings.Join(explain.Kinds(), ", "))
	case !slices.Contains([]string{"text", "json", "yaml"}, o.output):
		return fmt.Errorf("--output must be text, json or yaml, got %q", o.output)
	case o.watch && o.file != "":
		return errors.New("--watch needs a cluster, not --snapshot")
	}
	last := ""
	report := func(snap *snapshot.Snapshot, namespace string) error {
		answer, err := explainIn(snap, kind, model.Key{Namespace: namespace, Name: name})
		if err != nil {
			return err
		}
		text := answer.signature()
		if text == last {
			return nil
		}
		if last != "" && o.output != "json" {
			fmt.Fprintln(streams.Out, map[string]string{"text": "\n" + strings.Repeat("-", 80), "yaml": "---"}[o.output])
		}
		last = text
		return answer.write(streams.Out, o.output)
	}
	if o.watch {
		return o.follow(ctx, report)
	}
	snap, namespace, err := o.snapshot(ctx, streams.In, false)
	if err != nil {
		return err
	}
	return report(snap, namespace)
}

// follow calls report with the cluster as it is, and again after each change.
func (o *explainOptions) follow(ctx context.Context, report func(*snapshot.Snapshot, string) error) error {
	g, namespace, err := newGatherer(ctx, &o.target, o.plugin)
	if err != nil {
		return err
	}
	return g.Follow(ctx, time.Now, func(snap *snapshot.Snapshot) error { return report(snap, namespace) })
}

// explainIn explains one object of a snapshot.
func explainIn(snap *snapshot.Snapshot, kind string, key model.Key) (answer, error) {
	e, err := explain.New(snap)
	if err != nil {
		return answer{}, err
	}
	report, err := e.Explain(kind, key)
	return answer{report}, err
}

// answer is a Report that is written in one of several forms.
type answer struct{ *explain.Report }

// signature returns a text that is equal if only ages differ.
func (a answer) signature() string {
	data, err := json.Marshal(struct {
		State, Summary string
		Pods           []explain.PodAnswer
		Devices        []explain.DeviceAnswer
		Help           []explain.Help
	}{string(a.State), a.Summary, a.withoutAges(), a.Devices, a.Help})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// withoutAges returns the reasons without the times of holders, which contain ages.
func (a answer) withoutAges() []explain.PodAnswer {
	list := slices.Clone(a.Pods)
	for i := range list {
		if list[i].Nearest == nil {
			continue
		}
		near := *list[i].Nearest
		near.Holders = slices.Clone(near.Holders)
		for h := range near.Holders {
			near.Holders[h].Since = ""
		}
		list[i].Nearest = &near
	}
	return list
}

func (a answer) write(w io.Writer, output string) error {
	if output == "text" {
		return a.WriteText(w)
	}
	data, err := json.MarshalIndent(a.Report, "", "  ")
	if err == nil && output == "yaml" {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(bytes.TrimSpace(data)))
	return err
}
