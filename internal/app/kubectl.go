package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/allot-dev/allot/internal/etcd"
)

// kubectl runs k8s.io/kubectl. It uses the server of --kubeconfig, else of --data-dir, else of
// $ALLOT_DATA_DIR, else of $KUBECONFIG, else of the default data directory.
func kubectl(args []string) int {
	target, args, err := kubectlTarget(args, os.Getenv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "allot kubectl: %v\n", err)
		return 1
	}
	// "kubectl config" ignores the default of the flag.
	if err := os.Setenv("KUBECONFIG", target.kubeconfig); err != nil {
		fmt.Fprintf(os.Stderr, "allot kubectl: %v\n", err)
		return 1
	}
	// kubectl reads os.Args itself, to find plugins and for messages.
	os.Args = append([]string{"kubectl"}, args...)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(
		300,
	).WithDiscoveryQPS(50).WithWarningPrinter(
		streams,
	)
	if target.dir != "" {
		*flags.KubeConfig = target.kubeconfig
	}
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     os.Args,
		ConfigFlags:   flags,
		IOStreams:     streams,
	})
	useOwnVersion(command, flags, streams.Out)
	util.BehaviorOnFatal(func(message string, code int) {
		if hint := target.hint(message); hint != "" {
			message = strings.TrimSuffix(message, "\n") + "\n" + hint
		}
		if message != "" {
			fmt.Fprintln(os.Stderr, strings.TrimSuffix(message, "\n"))
		}
		os.Exit(code)
	})
	if err := command.Execute(); err != nil {
		util.CheckErr(err) // prints the error, and exits with the exit code of kubectl
	}
	return 0
}

// kubectlServer is the source of kubectl's server address.
type kubectlServer struct {
	kubeconfig string // a file, or the value of $KUBECONFIG
	dir        string // the data directory of the kubeconfig; empty if it comes from $KUBECONFIG
}

// kubectlTarget returns the server, and the arguments without --data-dir, which kubectl does not
// have.
func kubectlTarget(args []string, getenv func(string) string) (kubectlServer, []string, error) {
	dir, args, err := takeDataDir(args)
	if err != nil {
		return kubectlServer{}, nil, err
	}
	if named := getenv("KUBECONFIG"); dir == "" && getenv("ALLOT_DATA_DIR") == "" && named != "" {
		return kubectlServer{kubeconfig: named}, args, nil
	}
	if dir == "" {
		if dir, err = defaultDataDir(); err != nil {
			return kubectlServer{}, nil, err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return kubectlServer{}, nil, err
	}
	return kubectlServer{kubeconfig: filepath.Join(dir, kubeconfigName), dir: dir}, args, nil
}

// takeDataDir removes --data-dir from the arguments. Arguments after -- are a command for a
// container.
func takeDataDir(args []string) (dir string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		value, has := strings.CutPrefix(args[i], "--data-dir=")
		switch {
		case args[i] == "--":
			return dir, append(rest, args[i:]...), nil
		case args[i] == "--data-dir" && i+1 == len(args):
			return "", nil, errors.New("flag needs an argument: --data-dir")
		case args[i] == "--data-dir":
			i++
			value = args[i]
		case !has:
			rest = append(rest, args[i])
			continue
		}
		if value == "" {
			return "", nil, errors.New("--data-dir must not be empty")
		}
		dir = value
	}
	return dir, rest, nil
}

// hint returns what to do about a message of kubectl that reports a missing server.
func (k kubectlServer) hint(message string) string {
	refused := strings.Contains(message, "was refused")
	switch {
	case k.dir == "" && refused:
		return "the server is the one of $KUBECONFIG (" + k.kubeconfig + "); --data-dir names the one of an allot up"
	case k.dir == "":
		return ""
	case strings.Contains(message, k.kubeconfig+": no such file"):
		return "nothing has been started in " + k.dir + " yet: run allot up first, or give its --data-dir"
	case refused && etcd.InUse(filepath.Join(k.dir, "etcd")):
		return "the control plane of " + k.dir + " is starting, or does not answer"
	case refused:
		return "the control plane of " + k.dir + " is stopped: run allot up first, or give the --data-dir of another"
	}
	return ""
}
