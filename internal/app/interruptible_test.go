package app

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadingIsInterrupted(t *testing.T) {
	if text, err := io.ReadAll(interruptible{t.Context(), strings.NewReader("all of it")}); string(text) != "all of it" ||
		err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	never, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := io.ReadAll(interruptible{ctx, never}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted read ends with %v", err)
	}
}
