package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	kubeconfig := filepath.Join(dir, kubeconfigName)
	// For "kubectl config", which does not look at the flag's default.
	if err := os.Setenv("KUBECONFIG", kubeconfig); err != nil {
		fmt.Fprintf(os.Stderr, "allot kubectl: %v\n", err)
		return 1
	}
	// kubectl looks at os.Args itself, to find plugins and for messages.
	os.Args = append([]string{"kubectl"}, args...)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams)
	*flags.KubeConfig = kubeconfig
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     os.Args,
		ConfigFlags:   flags,
		IOStreams:     streams,
	})
	useOwnVersion(command, flags, streams.Out)
	util.BehaviorOnFatal(func(message string, code int) {
		if hint := missingServer(message, kubeconfig); hint != "" {
			message = strings.TrimSuffix(message, "\n") + "\n" + hint
		}
		if message != "" {
			fmt.Fprintln(os.Stderr, strings.TrimSuffix(message, "\n"))
		}
		os.Exit(code)
	})
	if err := command.Execute(); err != nil {
		util.CheckErr(err) // prints, and exits with kubectl's code
	}
	return 0
}

// missingServer says what to do when a message of kubectl tells that there is no server.
func missingServer(message, kubeconfig string) string {
	dir := filepath.Dir(kubeconfig)
	switch {
	case strings.Contains(message, kubeconfig+": no such file"):
		return "nothing has been started in " + dir + " yet: run allot up first"
	case strings.Contains(message, "was refused"):
		return "the control plane of " + dir + " seems to be stopped: run allot up first"
	}
	return ""
}
