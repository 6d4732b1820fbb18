package app

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// kubectl runs k8s.io/kubectl. Without a --kubeconfig it talks to the server of the data
// directory, whatever KUBECONFIG says.
func kubectl(args []string) int {
	dir, err := defaultDataDir()
	if err != nil {
		fmt.Fprintf(os.Stderr, "allot kubectl: %v\n", err)
		return 1
	}
	// kubectl looks at os.Args itself, to find plugins and for messages.
	os.Args = append([]string{"kubectl"}, args...)
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	*flags.KubeConfig = filepath.Join(dir, kubeconfigName)
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     os.Args,
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	if err := command.Execute(); err != nil {
		util.CheckErr(err) // prints, and exits with kubectl's code
	}
	return 0
}
