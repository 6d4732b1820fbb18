package printers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Printer lays out the table of one kind.
type Printer struct {
	columns []metav1.TableColumnDefinition
	// cells returns one cell for each column, including the wide ones, or false for an object of
	// another kind.
	cells func(obj runtime.Object, now time.Time) ([]any, bool)
	// conditions marks rows of objects that have completed; it may be nil.
	conditions func(obj runtime.Object) []metav1.TableRowCondition
	// listed changes rows of a list by what else is in it; it may be nil.
	listed func(list runtime.Object, rows []metav1.TableRow)
}

// typed returns a printer with a function on the kind's own type.
func typed[P runtime.Object](columns []metav1.TableColumnDefinition, cells func(obj P, now time.Time) []any) Printer {
	return Printer{
		columns: columns,
		cells: func(obj runtime.Object, now time.Time) ([]any, bool) {
			typed, ok := obj.(P)
			if !ok {
				return nil, false
			}
			return cells(typed, now), true
		},
	}
}

// convertor implements rest.TableConvertor.
type convertor struct {
	Printer
	now func() time.Time
	// fallback prints other objects, such as a Status.
	fallback rest.TableConvertor
}

// Convertor returns the table convertor of a resource, for objects of its hub version.
func (p Printer) Convertor(resource schema.GroupResource, now func() time.Time) rest.TableConvertor {
	return &convertor{Printer: p, now: now, fallback: rest.NewDefaultTableConvertor(resource)}
}

// ConvertToTable prints an object, or each object of a list.
func (c *convertor) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.columns
	}
	now := c.now()
	if !meta.IsListType(object) {
		row, ok := c.row(object, now)
		if !ok {
			return c.fallback.ConvertToTable(ctx, object, tableOptions)
		}
		table.Rows = []metav1.TableRow{row}
		copyMeta(table, object)
		return table, nil
	}
	table.Rows = make([]metav1.TableRow, 0, meta.LenList(object))
	other := false
	err := meta.EachListItem(object, func(item runtime.Object) error {
		row, ok := c.row(item, now)
		if !ok {
			other = true
			return nil
		}
		table.Rows = append(table.Rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if other {
		return c.fallback.ConvertToTable(ctx, object, tableOptions)
	}
	if c.listed != nil {
		c.listed(object, table.Rows)
	}
	copyMeta(table, object)
	return table, nil
}

func (c *convertor) row(obj runtime.Object, now time.Time) (metav1.TableRow, bool) {
	cells, ok := c.cells(obj, now)
	if !ok {
		return metav1.TableRow{}, false
	}
	row := metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: obj}}
	if c.conditions != nil {
		row.Conditions = c.conditions(obj)
	}
	return row, true
}

// copyMeta copies the metadata that a client needs to continue a list or to start a watch.
func copyMeta(table *metav1.Table, object runtime.Object) {
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = one.GetResourceVersion()
	}
}

// NameAndAge returns the printer of the kinds of which Kubernetes shows nothing else.
func NameAndAge() Printer {
	return Printer{
		columns: []metav1.TableColumnDefinition{nameColumn(), ageColumn()},
		cells: func(obj runtime.Object, now time.Time) ([]any, bool) {
			m, err := meta.Accessor(obj)
			if err != nil {
				return nil, false
			}
			return []any{m.GetName(), age(m.GetCreationTimestamp(), now)}, true
		},
	}
}

func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}
