package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
)

// watcher watches the registration folders of all nodes with one inotify instance, of which a user
// has few.
type watcher struct {
	events  *fsnotify.Watcher
	plugins []*node
	nodes   map[string]*node // by the path of a watched folder
}

func newWatcher(nodes []*node) (*watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch for plugins: %w", err)
	}
	w := &watcher{events: events, plugins: nodes, nodes: map[string]*node{}}
	for _, n := range nodes {
		if err := w.watch(n.folder.registry(), n); err != nil {
			_ = events.Close()
			return nil, err
		}
	}
	return w, nil
}

func (w *watcher) watch(folder string, n *node) error {
	if err := w.events.Add(folder); err != nil {
		return fmt.Errorf("watch for plugins in %s: %w", folder, err)
	}
	w.nodes[folder] = n
	return nil
}

// run looks at all folders, then at those in which something changes, until ctx ends.
func (w *watcher) run(ctx context.Context) {
	defer w.events.Close()
	for _, n := range w.plugins {
		w.look(ctx, n)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.events.Events:
			w.handle(ctx, event)
		case err := <-w.events.Errors: // such as an overflow: events are missing
			klog.FromContext(ctx).Error(err, "watch for plugins")
			for _, n := range w.plugins {
				w.look(ctx, n)
			}
		}
	}
}

// handle looks at the node in whose folder something has happened. A folder that was deleted is not
// watched any more; the registration folder itself is created again.
func (w *watcher) handle(ctx context.Context, event fsnotify.Event) {
	n := w.nodeOf(event.Name)
	if n == nil || event.Op == fsnotify.Chmod {
		return
	}
	if event.Has(fsnotify.Remove|fsnotify.Rename) && w.nodes[event.Name] != nil {
		delete(w.nodes, event.Name)
		_ = w.events.Remove(event.Name) // a folder that was renamed is still watched
	}
	if w.nodes[n.folder.registry()] == nil {
		if err := errors.Join(n.folder.create(), w.watch(n.folder.registry(), n)); err != nil {
			klog.FromContext(ctx).Error(err, "watch for plugins")
		}
	}
	w.look(ctx, n)
}

// look has the node take notice of the sockets that there are, and watches new folders. A folder is
// scanned again after it is watched, so that nothing is missed.
func (w *watcher) look(ctx context.Context, n *node) {
	for {
		sockets, folders := scan(n.folder.registry())
		watched := true
		for _, folder := range folders {
			if w.nodes[folder] == nil && w.watch(folder, n) == nil {
				watched = false
			}
		}
		if watched {
			n.registrar.sync(ctx, sockets)
			return
		}
	}
}

// nodeOf returns the node in whose folder a file is. Events of a folder itself have its own path.
func (w *watcher) nodeOf(file string) *node {
	if n := w.nodes[filepath.Dir(file)]; n != nil {
		return n
	}
	return w.nodes[file]
}
