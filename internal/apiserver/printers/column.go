package printers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// documented is a type that describes its own fields.
type documented interface{ SwaggerDoc() map[string]string }

// column is described by a field that it shows, in the words of the field.
func column(title, kind string, of documented, field string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: title, Type: kind, Description: of.SwaggerDoc()[field]}
}

// computed is a column that no single field stands behind.
func computed(title, kind, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: title, Type: kind, Description: description}
}

// wide makes a column one of those that only -o wide shows.
func wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
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
