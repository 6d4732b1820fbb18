package exampledriver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"
)

// options are the flags of the driver.
type options struct {
	name, node, kubelet, kubeconfig string
	devices                         int
	instance                        string
	v1beta1Only                     bool
	faultFile, unhealthyFile        string
	cdi                             string
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("driver", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.name, "name", "gpu.example.com", "name of the driver")
	flags.StringVar(&o.node, "node", "", "name of the node")
	flags.StringVar(&o.kubelet, "kubelet", "/var/lib/kubelet",
		"folder of the kubelet; DIR/NODE for allot up --plugins DIR")
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"),
		"how to reach the API server; default $KUBECONFIG")
	flags.IntVar(&o.devices, "devices", 4, "number of devices")
	flags.StringVar(&o.instance, "instance", "",
		"name of this instance of the driver, for an update during which two run; in a cluster, the UID of the driver's pod")
	flags.BoolVar(&o.v1beta1Only, "v1beta1-only", false, "serve DRA v1beta1, and not v1, like an old driver")
	flags.StringVar(&o.faultFile, "fault-file", "",
		"while this file has a text, calls fail with it; the text hang lets them wait")
	flags.StringVar(&o.unhealthyFile, "unhealthy-file", "", "file with the names of devices that are not healthy")
	flags.StringVar(&o.cdi, "cdi", "",
		"folder for a CDI file with the devices, which the container runtime of a real node reads")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.node == "" {
		return o, errors.New("--node is required")
	}
	return o, nil
}

// Main is the main function of the driver. It returns the exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		return 1
	}
	return 0
}

// run registers the driver, publishes its devices, and serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := o.writeCDI(); err != nil {
		return err
	}
	data := filepath.Join(o.kubelet, "plugins", o.name)
	if err := os.MkdirAll(data, 0o750); err != nil {
		return err
	}
	d := &driver{opts: o, log: out}
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(o.name),
		kubeletplugin.KubeClient(client),
		kubeletplugin.NodeName(o.node),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(o.kubelet, "plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.RollingUpdate(types.UID(o.instance)),
		kubeletplugin.NodeV1(!o.v1beta1Only),
	)
	if err != nil {
		return err
	}
	defer helper.Stop()
	if err := helper.PublishResources(ctx, d.devices()); err != nil && ctx.Err() == nil {
		return err
	}
	d.note("driver %s serves %d devices of node %s", o.name, o.devices, o.node)
	<-ctx.Done()
	return nil
}

// healthReport returns a report on all devices.
func (d *driver) healthReport(unhealthy []string) kubeletplugin.DeviceHealthReport {
	var report kubeletplugin.DeviceHealthReport
	for i := range d.opts.devices {
		device := kubeletplugin.DeviceHealth{
			PoolName:   d.opts.node,
			DeviceName: deviceName(i),
			Health:     kubeletplugin.HealthStatusHealthy,
		}
		if slices.Contains(unhealthy, device.DeviceName) {
			device.Health, device.Message = kubeletplugin.HealthStatusUnhealthy, "listed as unhealthy"
		}
		report.Devices = append(report.Devices, device)
	}
	return report
}
