package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/pki"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

var epoch = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is the server and the authority of a controller, and its queue.
type world struct {
	may     []string // the subresources that requesters may create
	refuse  error
	issued  []pki.Request
	written []string // log of writes
	later   []time.Duration
}

func (w *world) MayCreate(_ context.Context, _ *certificatesv1.CertificateSigningRequest, sub string) (bool, error) {
	return slices.Contains(w.may, sub), nil
}

func (w *world) write(what string, r *certificatesv1.CertificateSigningRequest) error {
	last := ""
	if n := len(r.Status.Conditions); n > 0 {
		last = " " + r.Status.Conditions[n-1].Message
	}
	if len(r.Status.Certificate) > 0 {
		last = " " + string(r.Status.Certificate)
	}
	w.written = append(w.written, what+last)
	return w.refuse
}

func (w *world) UpdateApproval(_ context.Context, r *certificatesv1.CertificateSigningRequest) error {
	return w.write("approval:", r)
}

func (w *world) UpdateStatus(_ context.Context, r *certificatesv1.CertificateSigningRequest) error {
	return w.write("status:", r)
}

func (w *world) Delete(_ context.Context, _ *certificatesv1.CertificateSigningRequest) error {
	w.written = append(w.written, "deleted")
	return w.refuse
}

func (w *world) Issue(r pki.Request) ([]byte, error) {
	w.issued = append(w.issued, r)
	return []byte("signed"), w.refuse
}

func (w *world) Add(types.NamespacedName)                         {}
func (w *world) AddAfter(_ types.NamespacedName, d time.Duration) { w.later = append(w.later, d) }

const kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName

// node returns a pending request of a machine with a bootstrap token for a kubelet certificate,
// with changes.
func node(t *testing.T, changes ...func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequest),
) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	request := &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:one", Organization: []string{"system:nodes"}},
	}
	r := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r", CreationTimestamp: metav1.NewTime(epoch)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Username: "system:bootstrap:abcdef", SignerName: kubelet,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
		},
	}
	for _, change := range changes {
		change(request, r)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, request, key)
	if err != nil {
		t.Fatal(err)
	}
	r.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return r
}

type change = func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequest)

func condition(t certificatesv1.RequestConditionType, since time.Duration) change {
	return func(_ *x509.CertificateRequest, r *certificatesv1.CertificateSigningRequest) {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: t, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(epoch.Add(since)),
		})
	}
}

func spec(f func(*certificatesv1.CertificateSigningRequestSpec)) change {
	return func(_ *x509.CertificateRequest, r *certificatesv1.CertificateSigningRequest) { f(&r.Spec) }
}

func x(f func(*x509.CertificateRequest)) change {
	return func(request *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequest) { f(request) }
}

func signer(name string, usages ...certificatesv1.KeyUsage) change {
	return spec(func(s *certificatesv1.CertificateSigningRequestSpec) {
		s.SignerName = name
		if len(usages) > 0 {
			s.Usages = usages
		}
	})
}

var approved = condition(certificatesv1.CertificateApproved, 0)

func TestSteps(t *testing.T) {
	both := []string{"nodeclient", "selfnodeclient"}
	self := spec(func(s *certificatesv1.CertificateSigningRequestSpec) { s.Username = "system:node:one" })
	serving := signer(certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
		certificatesv1.UsageDigitalSignature)
	dns := x(func(r *x509.CertificateRequest) { r.DNSNames = []string{"one"} })
	for name, c := range map[string]struct {
		request *certificatesv1.CertificateSigningRequest
		may     []string
		want    string
	}{
		"a machine joins":        {node(t), both, "approval: Auto approving kubelet client certificate after SubjectAccessReview."},
		"a node renews":          {node(t, self), both, "approval: Auto approving self kubelet client certificate after SubjectAccessReview."},
		"a node of another name": {node(t), []string{"selfnodeclient"}, ""},
		"nobody may":             {node(t, self), nil, ""},
		"of a server":            {node(t, serving, dns), both, ""},
		"with a name":            {node(t, dns), both, ""},
		"of a client":            {node(t, signer(certificatesv1.KubeAPIServerClientSignerName)), both, ""},
		"denied":                 {node(t, condition(certificatesv1.CertificateDenied, 0)), both, ""},

		"approved":                      {node(t, approved), nil, "status: signed"},
		"approved, of a server":         {node(t, approved, serving, dns), nil, "status: signed"},
		"approved, of a client":         {node(t, approved, signer(certificatesv1.KubeAPIServerClientSignerName)), nil, "status: signed"},
		"approved, of another signer":   {node(t, approved, signer("example.com/one")), nil, ""},
		"approved and denied":           {node(t, approved, condition(certificatesv1.CertificateDenied, 0)), nil, ""},
		"approved and failed":           {node(t, approved, condition(certificatesv1.CertificateFailed, 0)), nil, ""},
		"approved, of a usage too many": {node(t, approved, signer(kubelet, certificatesv1.UsageAny)), nil, "status: usages did not match [client auth digital signature key encipherment]"},
		"approved, with a name":         {node(t, approved, dns), nil, "status: DNS subjectAltNames are not allowed"},
		"approved, with an address":     {node(t, approved, x(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{{192, 0, 2, 1}} })), nil, "status: IP subjectAltNames are not allowed"},
		"approved, with mail":           {node(t, approved, x(func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b.c"} })), nil, "status: Email subjectAltNames are not allowed"},
		"approved, with a URI":          {node(t, approved, x(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "a", Host: "b"}} })), nil, "status: URI subjectAltNames are not allowed"},
		"approved, of no node":          {node(t, approved, x(func(r *x509.CertificateRequest) { r.Subject.CommonName = "jane" })), nil, "status: subject common name does not begin with system:node:"},
		"approved, of another group":    {node(t, approved, x(func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} })), nil, "status: subject organization is not system:nodes"},
		"approved, server without name": {node(t, approved, serving), nil, "status: DNS or IP subjectAltName is required"},
		"approved, client that serves":  {node(t, approved, signer(certificatesv1.KubeAPIServerClientSignerName, certificatesv1.UsageServerAuth)), nil, "status: invalid usage for client certificate: server auth"},
		"approved, client of no use":    {node(t, approved, signer(certificatesv1.KubeAPIServerClientSignerName, certificatesv1.UsageDigitalSignature)), nil, "status: missing required usage for client certificate: client auth"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{may: c.may}
			reconcile(t, w, c.request, epoch, nil)
			if got := strings.Join(w.written, "; "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func reconcile(
	t *testing.T, w *world, r *certificatesv1.CertificateSigningRequest, now time.Time, want error,
) {
	t.Helper()
	cache := memcache.New[*certificatesv1.CertificateSigningRequest]()
	cache.Put(r)
	c := &Controller{requests: cache, server: w, issuer: w, clock: testclock.NewFakePassiveClock(now), queue: w}
	if err := c.Reconcile(t.Context(), reconciler.KeyOf(r)); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// Without an authority, requests are approved and not signed.
func TestNoAuthority(t *testing.T) {
	w := &world{may: []string{"nodeclient"}}
	for _, r := range []*certificatesv1.CertificateSigningRequest{node(t), node(t, approved)} {
		cache := memcache.New[*certificatesv1.CertificateSigningRequest]()
		cache.Put(r)
		c := &Controller{requests: cache, server: w, clock: testclock.NewFakePassiveClock(epoch), queue: w}
		if err := c.Reconcile(t.Context(), reconciler.KeyOf(r)); err != nil {
			t.Error(err)
		}
	}
	if len(w.written) != 1 || !strings.HasPrefix(w.written[0], "approval:") {
		t.Errorf("wrote %q", w.written)
	}
}

func TestErrors(t *testing.T) {
	refused := errors.New("no")
	resource := certificatesv1.Resource("certificatesigningrequests")
	for name, c := range map[string]struct{ refuse, want error }{
		"deleted by now": {apierrors.NewNotFound(resource, "r"), nil},
		"changed by now": {apierrors.NewConflict(resource, "r", refused), nil},
		"another":        {refused, refused},
	} {
		t.Run(name, func(t *testing.T) {
			reconcile(t, &world{may: []string{"nodeclient"}, refuse: c.refuse}, node(t), epoch, c.want)
		})
	}
	broken := node(t)
	broken.Spec.Request = []byte("none")
	cache := memcache.New[*certificatesv1.CertificateSigningRequest]()
	cache.Put(broken)
	w := &world{}
	c := &Controller{requests: cache, server: w, issuer: w, clock: testclock.NewFakePassiveClock(epoch), queue: w}
	if err := c.Reconcile(t.Context(), reconciler.KeyOf(broken)); err == nil || len(w.written) > 0 {
		t.Errorf("a request that cannot be read: error %v, wrote %q", err, w.written)
	}
	if err := c.Reconcile(t.Context(), types.NamespacedName{Name: "other"}); err != nil {
		t.Errorf("a request that does not exist: %v", err)
	}
}

func TestLife(t *testing.T) {
	for _, c := range []struct {
		seconds *int32
		want    time.Duration
	}{
		{nil, 365 * 24 * time.Hour},
		{new(int32(3600)), time.Hour},
		{new(int32(1)), 10 * time.Minute},
		{new(int32(1 << 30)), 365 * 24 * time.Hour},
	} {
		r := node(t, approved, spec(func(s *certificatesv1.CertificateSigningRequestSpec) {
			s.ExpirationSeconds = c.seconds
		}))
		w := &world{}
		reconcile(t, w, r, epoch, nil)
		if len(w.issued) != 1 || w.issued[0].Life != c.want || w.issued[0].Usage != x509.KeyUsageDigitalSignature ||
			!slices.Equal(w.issued[0].ExtUsages, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
			t.Errorf("issued %v, want a certificate for %s", w.issued, c.want)
		}
	}
}

func TestOldRequestsAreDeleted(t *testing.T) {
	authority, err := pki.Open(t.TempDir(), func() time.Time { return epoch })
	if err != nil {
		t.Fatal(err)
	}
	issued := func(r *x509.CertificateRequest, c *certificatesv1.CertificateSigningRequest) {
		pair, err := authority.Client("a", r.Subject.CommonName)
		if err != nil {
			t.Fatal(err)
		}
		c.Status.Certificate = pair.Cert
	}
	for name, c := range map[string]struct {
		request *certificatesv1.CertificateSigningRequest
		end     time.Duration
	}{
		"pending":                  {node(t, signer("example.com/one")), 24 * time.Hour},
		"denied":                   {node(t, condition(certificatesv1.CertificateDenied, time.Minute)), time.Hour + time.Minute},
		"failed":                   {node(t, condition(certificatesv1.CertificateFailed, time.Minute)), time.Hour + time.Minute},
		"approved, waiting":        {node(t, signer("example.com/one"), condition(certificatesv1.CertificateApproved, time.Minute)), 24*time.Hour + time.Minute},
		"issued":                   {node(t, approved, issued), time.Hour},
		"with a condition unknown": {node(t, signer("example.com/one"), condition("Other", 0)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			reconcile(t, w, c.request, epoch.Add(c.end-time.Second), nil)
			if len(w.written) > 0 || c.end > 0 && !slices.Contains(w.later, time.Second) {
				t.Errorf("a second before: %q, later %v", w.written, w.later)
			}
			w = &world{}
			reconcile(t, w, c.request, epoch.Add(c.end), nil)
			if got := slices.Equal(w.written, []string{"deleted"}); got != (c.end > 0) {
				t.Errorf("after %s: %q", c.end, w.written)
			}
		})
	}
}

// A request is deleted when its certificate expires, not an hour after its approval.
func TestExpiredCertificate(t *testing.T) {
	authority, err := pki.Open(t.TempDir(), func() time.Time { return epoch })
	if err != nil {
		t.Fatal(err)
	}
	r := node(t, condition(certificatesv1.CertificateApproved, 30*time.Minute))
	request, err := parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status.Certificate, err = authority.Issue(pki.Request{Request: request, Life: 40 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if got := Expiry(r); !got.Equal(epoch.Add(40 * time.Minute)) {
		t.Errorf("the request ends at %v", got)
	}
}

func TestUsages(t *testing.T) {
	usage, ext, err := Usages([]certificatesv1.KeyUsage{
		certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth, certificatesv1.UsageEmailProtection,
		certificatesv1.UsageSigning, certificatesv1.UsageCRLSign,
	})
	if err != nil || usage != x509.KeyUsageDigitalSignature|x509.KeyUsageCRLSign ||
		!slices.Equal(ext, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageEmailProtection}) {
		t.Errorf("usages %v, %v, error %v", usage, ext, err)
	}
	if _, _, err := Usages([]certificatesv1.KeyUsage{"flying"}); err == nil {
		t.Error("an unknown usage was accepted")
	}
}
