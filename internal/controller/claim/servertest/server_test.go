package servertest

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/podgroup"
	"github.com/allot-dev/allot/internal/testkit/testserver"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

var (
	set    *client.Set
	caches *client.Informers
	meter  = &ageMeter{}
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m, start)) }

// start runs the two controllers until ctx ends.
func start(ctx context.Context, server *apiserver.Server) (err error) {
	if set, err = client.New(server.Loopback()); err != nil {
		return err
	}
	caches = client.NewInformers(set)
	events := record.NewFakeRecorder(1000)
	claims, err := claim.New(set, caches, events, meter, claim.Options{})
	if err != nil {
		return err
	}
	groups, err := podgroup.New(set, caches, events)
	if err != nil {
		return err
	}
	caches.Start(ctx)
	go claims.Run(ctx) //nolint:errcheck // ends with ctx
	go groups.Run(ctx) //nolint:errcheck // ends with ctx
	return caches.WaitForSync(ctx)
}

// namespace makes a namespace for a test.
func namespace(t *testing.T) string {
	t.Helper()
	ns, err := set.Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "claims-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// eventually waits until what is said of the server holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// must ends the test when a call fails.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
