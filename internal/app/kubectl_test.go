package app

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubectlTarget checks which server allot kubectl uses.
func TestKubectlTarget(t *testing.T) {
	for _, tc := range []struct {
		name, args, env   string
		config, dir, rest string
		wantErr           string
	}{
		{name: "default", args: "get pods", env: "HOME=/h", config: "/h/.local/state/allot/admin.kubeconfig",
			dir: "/h/.local/state/allot", rest: "get pods"},
		{name: "KUBECONFIG", args: "get pods", env: "HOME=/h KUBECONFIG=/k:/l", config: "/k:/l", rest: "get pods"},
		{name: "ALLOT_DATA_DIR first", args: "get pods", env: "KUBECONFIG=/k ALLOT_DATA_DIR=/d",
			config: "/d/admin.kubeconfig", dir: "/d", rest: "get pods"},
		{name: "--data-dir first", args: "--data-dir /a get pods", env: "KUBECONFIG=/k ALLOT_DATA_DIR=/d",
			config: "/a/admin.kubeconfig", dir: "/a", rest: "get pods"},
		{name: "--data-dir=", args: "get pods --data-dir=/a -o yaml", config: "/a/admin.kubeconfig", dir: "/a",
			rest: "get pods -o yaml"},
		{name: "the command of a container", args: "exec p -- ls --data-dir /a", env: "ALLOT_DATA_DIR=/d",
			config: "/d/admin.kubeconfig", dir: "/d", rest: "exec p -- ls --data-dir /a"},
		{name: "no value", args: "get pods --data-dir", wantErr: "flag needs an argument: --data-dir"},
		{name: "empty", args: "get pods --data-dir=", wantErr: "--data-dir must not be empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, name := range []string{"KUBECONFIG", "ALLOT_DATA_DIR", "XDG_STATE_HOME"} {
				t.Setenv(name, "")
			}
			env := map[string]string{}
			for pair := range strings.FieldsSeq(tc.env) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
				t.Setenv(name, value)
			}
			got, rest, err := kubectlTarget(strings.Fields(tc.args), func(name string) string { return env[name] })
			if tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.config, tc.dir, tc.rest}, []string{got.kubeconfig, got.dir,
				strings.Join(rest, " ")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubectlHint(t *testing.T) {
	dir := t.TempDir()
	ofDir := kubectlServer{kubeconfig: filepath.Join(dir, kubeconfigName), dir: dir}
	for _, tc := range []struct {
		server        kubectlServer
		message, want string
	}{
		{ofDir, "error: stat " + ofDir.kubeconfig + ": no such file or directory", "nothing has been started in " + dir +
			" yet"},
		{ofDir, "The connection to the server 127.0.0.1:1 was refused", "the control plane of " + dir +
			" is stopped: run allot up"},
		{kubectlServer{kubeconfig: "/k"}, "The connection to the server 127.0.0.1:1 was refused",
			"the server is the one of $KUBECONFIG (/k)"},
	} {
		if got := tc.server.hint(tc.message); !strings.HasPrefix(got, tc.want) {
			t.Errorf("the hint of %q is %q", tc.message, got)
		}
	}
	for _, server := range []kubectlServer{ofDir, {kubeconfig: "/k"}} {
		if got := server.hint(`pods "x" not found`); got != "" {
			t.Errorf("there is the hint %q", got)
		}
	}
}
