package memserver

import (
	"context"
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// copyInto copies a stored object into the object of a caller.
func (s *store) copyInto(r record, into runtime.Object) error {
	object, err := s.copyOut(r.object, r.revision)
	if err == nil && into != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object).Elem())
	}
	return err
}

// Create implements storage.Interface.
func (s *store) Create(_ context.Context, key string, object, out runtime.Object, _ uint64) error {
	object, err := s.copyIn(object)
	if err != nil {
		return err
	}
	if err := s.memory.write(); err != nil {
		return err
	}
	r, ok := s.memory.put(key, 0, object)
	if !ok {
		return storage.NewKeyExistsError(key, 0)
	}
	return s.copyInto(r, out)
}

// Get implements storage.Interface.
func (s *store) Get(_ context.Context, key string, opts storage.GetOptions, into runtime.Object) error {
	r, ok := s.memory.get(key)
	switch {
	case ok:
		return s.copyInto(r, into)
	case opts.IgnoreNotFound:
		return runtime.SetZeroValue(into)
	}
	return storage.NewKeyNotFoundError(key, 0)
}

// GetList implements storage.Interface. It ignores limits and returns everything in one page.
func (s *store) GetList(_ context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	records, revision := s.memory.below(key)
	if !opts.Recursive {
		records = nil
		if r, ok := s.memory.get(key); ok {
			records = []record{r}
		}
	}
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	into := reflect.ValueOf(items).Elem()
	into.Set(reflect.MakeSlice(into.Type(), 0, len(records)))
	for _, r := range records {
		object, err := s.copyOut(r.object, r.revision)
		if err != nil {
			return err
		}
		matches, err := opts.Predicate.Matches(object)
		if err != nil {
			return err
		}
		if matches {
			into.Set(reflect.Append(into, reflect.ValueOf(object).Elem()))
		}
	}
	return s.Versioner().UpdateList(list, revision, "", nil)
}

// errOvertaken is the error for an object that another write has changed meanwhile.
var errOvertaken = errors.New("overtaken")

// GuaranteedUpdate implements storage.Interface.
func (s *store) GuaranteedUpdate(
	_ context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object,
) error {
	for {
		err := s.tryUpdate(key, destination, ignoreNotFound, preconditions, update)
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
}

func (s *store) tryUpdate(
	key string, destination runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions,
	update storage.UpdateFunc,
) error {
	old, there := s.memory.get(key)
	current := s.newOne()
	switch {
	case there:
		if err := s.copyInto(old, current); err != nil {
			return err
		}
	case !ignoreNotFound:
		return storage.NewKeyNotFoundError(key, 0)
	}
	if err := preconditions.Check(key, current); err != nil {
		return err
	}
	wanted, _, err := update(current, storage.ResponseMeta{ResourceVersion: old.revision})
	if err != nil {
		return err
	}
	if wanted, err = s.copyIn(wanted); err != nil {
		return err
	}
	if err := s.memory.write(); err != nil {
		return err
	}
	now, ok := s.memory.put(key, old.revision, wanted)
	if !ok {
		return errOvertaken
	}
	return s.copyInto(now, destination)
}

// Delete implements storage.Interface.
func (s *store) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions,
) error {
	for {
		old, ok := s.memory.get(key)
		if !ok {
			return storage.NewKeyNotFoundError(key, 0)
		}
		current, err := s.copyOut(old.object, old.revision)
		if err != nil {
			return err
		}
		if err := preconditions.Check(key, current); err != nil {
			return err
		}
		if err := validate(ctx, current); err != nil {
			return err
		}
		if gone, ok := s.memory.put(key, old.revision, nil); ok {
			return s.copyInto(record{old.object, gone.revision}, out)
		}
	}
}
