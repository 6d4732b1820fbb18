package admission

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	core "github.com/allot-dev/allot/api/core/v1"
)

func accountsWorld(accounts ...corev1.ServiceAccount) world {
	return world{namespaces: map[string]corev1.NamespacePhase{"ns": corev1.NamespaceActive}, accounts: accounts}
}

func account(name string, change func(*corev1.ServiceAccount)) corev1.ServiceAccount {
	a := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if change != nil {
		change(&a)
	}
	return a
}

// admitted returns the spec of a pod as JSON after both phases, or the error.
func admitted(t *testing.T, w world, manifest string) string {
	t.Helper()
	pod := &core.Pod{}
	if err := yaml.UnmarshalStrict([]byte(manifest), pod); err != nil {
		t.Fatal(err)
	}
	chain := New(w, Rules{ServiceAccounts: true})
	a := request(pod, "pods", "ns", admission.Create)
	if err := chain.Admit(t.Context(), a, nil); err != nil {
		return err.Error()
	}
	if err := chain.Validate(t.Context(), a, nil); err != nil {
		return err.Error()
	}
	pod.Spec.Tolerations, pod.Spec.Priority, pod.Spec.PreemptionPolicy = nil, nil, nil
	out, err := json.Marshal(pod.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`).ReplaceAllString(string(out), "kube-api-access-*")
}

func TestServiceAccountOfPod(t *testing.T) {
	const (
		volume = `{"name":"kube-api-access-*","projected":{"sources":[` +
			`{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},` +
			`{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},` +
			`{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}` +
			`],"defaultMode":420}}`
		mount  = `{"name":"kube-api-access-*","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}`
		byName = `"serviceAccountName":"default","serviceAccount":"default"`
	)
	no := account("default", func(a *corev1.ServiceAccount) { a.AutomountServiceAccountToken = new(false) })
	pulls := account("default", func(a *corev1.ServiceAccount) {
		a.AutomountServiceAccountToken = new(false)
		a.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	})
	plain := account("default", nil)
	for _, tt := range []struct {
		name, pod string
		account   corev1.ServiceAccount
		want      []string
		not       string
	}{
		{"default account", `spec: {containers: [{name: c}]}`, plain,
			[]string{byName, `"volumes":[` + volume + `]`, `"volumeMounts":[` + mount + `]`}, ""},
		{
			"init containers too", `spec: {initContainers: [{name: i}], containers: [{name: c}]}`, plain,
			[]string{`{"name":"i","resources":{},"volumeMounts":[` + mount + `]}`,
				`{"name":"c","resources":{},"volumeMounts":[` + mount + `]}`}, "",
		},
		{"account declines", `spec: {containers: [{name: c}]}`, no, []string{byName}, "kube-api-access"},
		{"pod overrides the account", `spec: {automountServiceAccountToken: true, containers: [{name: c}]}`, no,
			[]string{volume}, ""},
		{"pod declines", `spec: {automountServiceAccountToken: false, containers: [{name: c}]}`, plain, []string{byName},
			"kube-api-access"},
		{
			"every container mounts something there", `spec: {containers: [{name: c, volumeMounts: [{name: v, mountPath: ` +
				tokenMountPath + `}]}]}`, plain,
			[]string{byName}, "kube-api-access",
		},
		{
			"volume is there already", `spec: {volumes: [{name: kube-api-access-own}], containers: [{name: c}]}`, plain,
			[]string{`"volumes":[{"name":"kube-api-access-own"}]`, `"name":"kube-api-access-own","readOnly":true`}, "*",
		},
		{"imagePullSecrets", `spec: {containers: [{name: c}]}`, pulls, []string{`"imagePullSecrets":[{"name":"registry"}]`},
			""},
		{"imagePullSecrets of the pod", `spec: {imagePullSecrets: [{name: own}], containers: [{name: c}]}`, pulls,
			[]string{`"imagePullSecrets":[{"name":"own"}]`}, "registry"},
		{
			"no such account", `spec: {serviceAccountName: robot, containers: [{name: c}]}`, plain,
			[]string{`error looking up service account ns/robot: serviceaccount "robot" not found`}, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := admitted(t, accountsWorld(tt.account), tt.pod)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("got %s with %s", got, tt.not)
			}
		})
	}
}

// A pod can be created immediately after its namespace, before the namespace has an account.
func TestDefaultServiceAccountIsAwaited(t *testing.T) {
	w := accountsWorld()
	late := &lateAccounts{world: w, looks: 3}
	pod := &core.Pod{Spec: core.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	if err := New(late, Rules{ServiceAccounts: true}).Admit(t.Context(), request(pod, "pods", "ns", admission.Create),
		nil); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.ServiceAccountName; got != "default" || late.looks != 0 {
		t.Errorf("got the account %q after %d looks too few", got, late.looks)
	}
	if got := admitted(t, w, `spec: {containers: [{name: c}]}`); !strings.Contains(
		got, `serviceaccount "default" not found`,
	) {
		t.Errorf("got %s", got)
	}
}

func TestMirrorPodHasNoServiceAccount(t *testing.T) {
	const mirror = `metadata: {annotations: {kubernetes.io/config.mirror: x}}
spec: `
	for spec, want := range map[string]string{
		`{containers: [{name: c}]}`:                                                                          `{"containers":[{"name":"c","resources":{}}]}`,
		`{serviceAccountName: default, containers: [{name: c}]}`:                                             "a mirror pod may not reference service accounts",
		`{volumes: [{name: v, secret: {secretName: s}}], containers: [{name: c}]}`:                           "a mirror pod may not reference secrets",
		`{volumes: [{name: v, projected: {sources: [{serviceAccountToken: {}}]}}], containers: [{name: c}]}`: "a mirror pod may not use ServiceAccountToken",
	} {
		if got := admitted(t, accountsWorld(account("default", nil)), mirror+spec); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
}

func TestEnforcedSecrets(t *testing.T) {
	strict := account("default", func(a *corev1.ServiceAccount) {
		a.Annotations = map[string]string{"kubernetes.io/enforce-mountable-secrets": "true"}
		a.Secrets = []corev1.ObjectReference{{Name: "known"}}
	})
	for spec, want := range map[string]string{
		`{volumes: [{name: v, secret: {secretName: known}}], containers: [{name: c}]}`:              `"secretName":"known"`,
		`{volumes: [{name: v, secret: {secretName: s}}], containers: [{name: c}]}`:                  `volume with secret.secretName="s" is not allowed because service account default does not`,
		`{containers: [{name: c, env: [{name: E, valueFrom: {secretKeyRef: {name: s}}}]}]}`:         `container c with envVar E referencing secret.secretName="s" is not allowed`,
		`{initContainers: [{name: i, envFrom: [{secretRef: {name: s}}]}], containers: [{name: c}]}`: `init container i with envFrom referencing secret.secretName="s"`,
		`{imagePullSecrets: [{name: s}], containers: [{name: c}]}`:                                  `imagePullSecrets[0].name="s" is not allowed`,
	} {
		if got := admitted(t, accountsWorld(strict), "spec: "+spec); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
}
