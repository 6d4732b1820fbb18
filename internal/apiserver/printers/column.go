package printers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// documented is a type with descriptions of its fields.
type documented interface{ SwaggerDoc() map[string]string }

// column returns a column with the description of the field that it shows.
func column(title, kind string, of documented, field string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: title, Type: kind, Description: of.SwaggerDoc()[field]}
}

// computedColumn returns a column that is not a single field.
func computedColumn(title, kind, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: title, Type: kind, Description: description}
}

// wideOnly returns the column as one that is only shown with -o wide.
func wideOnly(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}

func nameColumn() metav1.TableColumnDefinition {
	c := column("Name", "string", metav1.ObjectMeta{}, "name")
	c.Format = "name"
	return c
}

func ageColumn() metav1.TableColumnDefinition {
	return column("Age", "string", metav1.ObjectMeta{}, "creationTimestamp")
}
