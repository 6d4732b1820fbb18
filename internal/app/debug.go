package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/attach"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/model"
)

// looksAtViews is how often two views are compared before they count as different. A write that is
// in progress is in one view and not in the other.
const looksAtViews = 5

// diffOptions are the flags of allot debug diff.
type diffOptions struct {
	apartOptions
	state         string
	schedulerName string
}

func newDebugCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "debug",
		Short: "Inspect a running scheduler",
		Args:  cobra.NoArgs,
		// without RunE, cobra accepts any argument
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var o diffOptions
	diff := &cobra.Command{
		Use:   "diff",
		Short: "Compare a scheduler's view of the cluster with the API",
		Long: "Read the view of a running scheduler, build the same view from the API, and print the lines that are in one of them\n" +
			"only. It ends with 1 if there are any. The scheduler shows its view on its health port, to its own machine alone:\n" +
			"with the scheduler in a cluster, forward that port first.",
		Example: "  kubectl -n allot-system port-forward deployment/allot 8080 &\n" +
			"  allot debug diff --state http://127.0.0.1:8080",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			differ, err := o.diff(cmd.Context(), streams.Out)
			if err != nil {
				return fmt.Errorf("debug diff: %w", err)
			}
			if differ {
				return errReported
			}
			return nil
		},
	}
	flags := diff.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"how the API server is reached (default: $KUBECONFIG, the user's, or the pod's service account)")
	flags.StringVar(&o.state, "state", "http://127.0.0.1:8080", "URL of the scheduler's health port")
	flags.StringVar(&o.schedulerName, "scheduler-name", "",
		"spec.schedulerName of the pods that it is to place (default: what it says)")
	addFeaturesFlag(flags, &o.features)
	cmd.AddCommand(diff)
	return cmd
}

// diff prints the differences between the two views, and reports whether there are any.
func (o *diffOptions) diff(ctx context.Context, out io.Writer) (differ bool, err error) {
	_, name, err := o.liveView(ctx)
	if err != nil {
		return false, err
	}
	if o.schedulerName != "" && o.schedulerName != name {
		return false, fmt.Errorf("nothing was compared: the scheduler at %s is %s, not %s", o.state, name, o.schedulerName)
	}
	server, err := o.serverView(ctx, name)
	if err != nil {
		return false, err
	}
	defer server.stop()
	var theirs, ours []string
	for look := range looksAtViews {
		if look > 0 {
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case <-time.After(time.Second):
			}
		}
		live, _, err := o.liveView(ctx)
		if err != nil {
			return false, err
		}
		api := server.view()
		theirs, ours = onlyIn(live, api), onlyIn(api, live)
		if len(theirs)+len(ours) == 0 {
			fmt.Fprintf(out, "the views are the same: %d lines\n", strings.Count(live, "\n"))
			return false, nil
		}
	}
	for _, line := range theirs {
		fmt.Fprintln(out, "scheduler:", line)
	}
	for _, line := range ours {
		fmt.Fprintln(out, "API:      ", line)
	}
	return true, nil
}

// liveView returns the view of the running scheduler, and the schedulerName of its pods.
func (o *diffOptions) liveView(ctx context.Context) (view, name string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(o.state, "/")+statePath, nil)
	if err != nil {
		return "", "", fmt.Errorf("--state is a URL, such as http://127.0.0.1:8080: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", "", fmt.Errorf("ask the scheduler for its view: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return "", "", fmt.Errorf("ask the scheduler for its view: %w", err)
	}
	return string(text), response.Header.Get(schedulerNameHeader), nil
}

// serverView is the view of a scheduler that starts now.
type serverView struct {
	feed  *cluster.Feed
	state *model.State
	stop  func()
}

func (v *serverView) view() string {
	v.feed.Apply(v.state)
	return v.state.Dump()
}

func (o *diffOptions) serverView(ctx context.Context, schedulerName string) (*serverView, error) {
	cfg, err := o.config()
	if err != nil {
		return nil, err
	}
	asker, err := newSurveyor(cfg)
	if err != nil {
		return nil, err
	}
	survey, err := attach.Look(ctx, asker.discovery)
	if err != nil {
		return nil, err
	}
	if err := survey.Narrow(ctx, asker.clients.AuthorizationV1().SelfSubjectAccessReviews()); err != nil {
		return nil, err
	}
	choice := attach.Choose(survey, nil, o.features)
	set, err := client.NewFor(cfg, choice.Dialect)
	if err != nil {
		return nil, err
	}
	informers := client.NewInformers(set).Without(absentKinds(choice.Features)...).Without(choice.Absent...)
	caches := cluster.CachesOf(informers)
	caches.Features = choice.Features
	feed, err := cluster.NewFeed(caches, schedulerName)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	informers.Start(ctx)
	v := &serverView{feed: feed, state: model.NewState(), stop: func() {
		cancel()
		informers.Wait()
	}}
	if err := informers.WaitForSync(ctx); err != nil {
		v.stop()
		return nil, err
	}
	return v, nil
}

// onlyIn returns the lines of a that b does not have, or has less often.
func onlyIn(a, b string) []string {
	count := map[string]int{}
	for line := range strings.SplitSeq(b, "\n") {
		count[line]++
	}
	var out []string
	for line := range strings.SplitSeq(a, "\n") {
		if count[line]--; count[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}
