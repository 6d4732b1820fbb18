package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/cmd/util"
	kubectlversion "k8s.io/kubectl/pkg/cmd/version"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/apiserver"
)

// useOwnVersion replaces "kubectl version". That command reads the client's version from linker
// flags, which "go run" and "go build" do not set, and fails without them.
func useOwnVersion(kubectl *cobra.Command, flags genericclioptions.RESTClientGetter, out io.Writer) {
	for _, c := range kubectl.Commands() {
		if c.Name() != "version" {
			continue
		}
		kubectl.RemoveCommand(c)
		own := &cobra.Command{
			Use: c.Use, Short: c.Short, Long: c.Long, Example: c.Example,
			Args: cobra.NoArgs,
		}
		clientOnly := own.Flags().Bool("client", false, "If true, shows client version only (no server required).")
		output := own.Flags().StringP("output", "o", "", "One of 'yaml' or 'json'.")
		own.Run = func(*cobra.Command, []string) {
			util.CheckErr(printVersions(flags, out, *output, *clientOnly))
		}
		kubectl.AddCommand(own)
		return
	}
}

func printVersions(flags genericclioptions.RESTClientGetter, out io.Writer, output string, clientOnly bool) error {
	if output != "" && output != "yaml" && output != "json" {
		return errors.New("--output must be 'yaml' or 'json'")
	}
	versions := kubectlversion.Version{ClientVersion: apiserver.VersionInfo(), KustomizeVersion: kustomizeVersion()}
	var unreachable error
	if !clientOnly {
		versions.ServerVersion, unreachable = serverVersion(flags)
	}
	if err := writeVersions(out, output, versions); err != nil {
		return err
	}
	return unreachable
}

func serverVersion(flags genericclioptions.RESTClientGetter) (*apiversion.Info, error) {
	client, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	client.Invalidate()
	return client.ServerVersion()
}

func writeVersions(out io.Writer, output string, v kubectlversion.Version) error {
	var text []byte
	var err error
	switch output {
	case "json":
		text, err = json.MarshalIndent(v, "", "  ")
	case "yaml":
		text, err = yaml.Marshal(v)
	default:
		text = fmt.Appendf(nil, "Client Version: %s\nKustomize Version: %s", v.ClientVersion.GitVersion, v.KustomizeVersion)
		if v.ServerVersion != nil {
			text = fmt.Appendf(text, "\nServer Version: %s", v.ServerVersion.GitVersion)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

func kustomizeVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == "sigs.k8s.io/kustomize/kustomize/v5" {
			return dep.Version
		}
	}
	return ""
}
