package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/jsonpath"
)

// recording is the history of all objects of a kind, a line for each version.
type recording struct {
	objects dynamic.ResourceInterface
	stop    context.CancelFunc
	ended   chan struct{}
	lines   bytes.Buffer
	err     error

	mu   sync.Mutex
	seen map[string]bool // versions of objects
}

// patience is how long a record may lag behind.
const patience = time.Minute

// recordings is the key of the script's recordings, a map by file.
type recordings struct{}

// record begins to record all versions of all objects of a kind. A "kubectl get --watch" ends when
// events come in faster than it is served; this one goes on from where it was.
//
//	record file resource.version.group jsonpath
//	recorded file
func record(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: record file resource.version.group jsonpath")
	}
	gvr, _ := schema.ParseResourceArg(args[1])
	if gvr == nil {
		ts.Fatalf("%s is not like podgroups.v1beta1.scheduling.k8s.io", args[1])
	}
	format := jsonpath.New(args[0]).AllowMissingKeys(true)
	ts.Check(format.Parse(args[2]))
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(ts.Getenv("ALLOT_DATA_DIR"), "admin.kubeconfig"))
	ts.Check(err)
	client, err := dynamic.NewForConfig(config)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	ts.Defer(cancel)
	r := &recording{objects: client.Resource(*gvr), stop: cancel, ended: make(chan struct{}), seen: map[string]bool{}}
	list, err := r.objects.List(ctx, metav1.ListOptions{})
	ts.Check(err)
	for i := range list.Items {
		r.seen[versionOf(&list.Items[i])] = true
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return r.objects.Watch(ctx, options)
		},
	})
	ts.Check(err)
	ts.Value(recordings{}).(map[string]*recording)[args[0]] = r
	go r.run(watcher, format)
}

func (r *recording) run(watcher watch.Interface, format *jsonpath.JSONPath) {
	defer close(r.ended)
	for event := range watcher.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			r.err = errors.Join(r.err, fmt.Errorf("the record has a gap: %v", event.Object))
			continue
		}
		r.err = errors.Join(r.err, format.Execute(&r.lines, obj.Object))
		r.lines.WriteByte('\n')
		r.mu.Lock()
		r.seen[versionOf(obj)] = true
		r.mu.Unlock()
	}
}

func versionOf(obj *unstructured.Unstructured) string {
	return string(obj.GetUID()) + " " + obj.GetResourceVersion()
}

// complete waits until the record has all that there is.
func (r *recording) complete(ctx context.Context) error {
	list, err := r.objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(poll) {
		missing := r.lacks(list.Items)
		if missing == "" {
			return nil
		}
		select {
		case <-r.ended:
			return errors.Join(r.err, fmt.Errorf("the record has ended before %s", missing))
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("the record lacks %s after %s", missing, patience)
		}
	}
}

// lacks names an object whose present version is not in the record.
func (r *recording) lacks(objects []unstructured.Unstructured) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range objects {
		if !r.seen[versionOf(&objects[i])] {
			return objects[i].GetKind() + " " + objects[i].GetName()
		}
	}
	return ""
}

// recorded ends a recording when it has all that there is, and writes its file.
func recorded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recorded file")
	}
	r := ts.Value(recordings{}).(map[string]*recording)[args[0]]
	if r == nil {
		ts.Fatalf("%s is not being recorded", args[0])
	}
	ts.Check(r.complete(context.Background()))
	r.stop()
	<-r.ended
	ts.Check(r.err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), r.lines.Bytes(), 0o600))
}
