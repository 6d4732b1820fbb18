package alloc_test

import (
	"testing"

	"github.com/allot-dev/allot/internal/testkit/scenario"
)

func TestScenarios(t *testing.T) { scenario.Walk(t, "testdata") }
