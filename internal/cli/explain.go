package cli

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// explain returns an error with the position of the refused document, and a line for each wrong
// field.
func explain(m Manifest, err error) error {
	where := fmt.Sprintf("%s: %s %s", m.Source, m.Object.GetKind(), m.Object.GetName())
	var lines []error
	for _, cause := range causes(err) {
		lines = append(lines, fmt.Errorf("%s: %s", where, cause))
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s: %w", where, err)
	}
	return errors.Join(lines...)
}

// causes returns the fields that the server refused, each with its message.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	if status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return unknownFields(status.Status().Message)
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse || cause.Message == "" {
			continue
		}
		text := cause.Message
		if cause.Field != "" && !strings.HasPrefix(text, cause.Field) {
			text = cause.Field + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// unknownFields returns the fields that a message of the server names as not in the schema of a
// kind:
//
//	failed to create typed patch object (default/d; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema
//
// or, for several fields, "errors:" and a line for each.
func unknownFields(message string) []string {
	if !strings.Contains(message, "field not declared in schema") {
		return nil
	}
	_, fields, ok := strings.Cut(message, "): ")
	if !ok {
		return nil
	}
	var out []string
	for line := range strings.Lines(strings.TrimPrefix(fields, "errors:")) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, strings.TrimPrefix(line, "."))
		}
	}
	return out
}
