package plugins

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	drahealthv1 "k8s.io/kubelet/pkg/apis/dra-health/v1"
	registrationv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// TestScenarios plays the files of testdata, with real sockets. Each verb prints what it led to.
//
//	host [simulated=D] [call-timeout=T] [wipe-delay=T]: starts the host of node-0, after it ended the one before
//	plugin NAME driver=D [services=(S,…)] [type=T] [endpoint=NAME] [folder=F]: a plugin starts, and registers
//	remove-folder F: deletes a folder below plugins_registry, or "." itself
//	stop NAME | crash NAME (leaves its socket): it ends, and the host has noticed that, and that its
//	  health reports have ended
//	faults NAME [hang] [error] [refuse] [skip] [stranger]: replaces the faults of a plugin
//	claim NAME [uid=U] [skip-operation=O] devices=(D,…): of these drivers
//	prepare POD CLAIM… | unprepare POD | needs CLAIM…
//	health NAME DEVICE=HEALTH…: a plugin reports, and the host has the reports
//	devices CLAIM | taken | held | record: print
//	write-record: the input replaces the file
//	await unavailable: until a driver is
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := newPlay(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := p.run(t, d)
			if err != nil {
				// Server and client notice the end of a call at the same time.
				text, _, timeout := strings.Cut(err.Error(), "code = DeadlineExceeded")
				if timeout {
					text += "code = DeadlineExceeded"
				}
				out += "error: " + strings.ReplaceAll(text, p.dir, "DIR") + "\n"
			}
			return p.takeLog() + out
		})
	})
}

type play struct {
	dir     string
	host    *Host
	end     func()
	drivers map[string]*testDriver
	claims  map[string]*resource.ResourceClaim

	changed, unavailable chan string

	mu  sync.Mutex
	log []string
}

func newPlay(t *testing.T) *play {
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "plug")
	if err != nil {
		t.Fatal(err)
	}
	p := &play{dir: dir, drivers: map[string]*testDriver{}, claims: map[string]*resource.ResourceClaim{}, end: func() {}}
	t.Cleanup(func() {
		p.end()
		for _, d := range p.drivers {
			d.stop(false)
		}
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *play) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, fmt.Sprintf(format, args...)+"\n")
}

func (p *play) takeLog() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.log, "")
	p.log = nil
	return out
}

func (p *play) run(t *testing.T, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "host":
		return "", p.startHost(t, d)
	case "plugin":
		return p.startPlugin(t, d)
	case "stop", "crash":
		name := d.CmdArgs[0].Key
		driver := p.drivers[name]
		delete(p.drivers, name)
		p.drain()
		driver.stop(d.Cmd == "crash")
		return "", p.await(func() bool { return !p.isConnected(driver) && !p.hasReports(driver) })
	case "remove-folder":
		return "", p.removeFolder(filepath.Join(folderOf(p.dir, "node-0").registry(), d.CmdArgs[0].Key))
	case "faults":
		p.drivers[d.CmdArgs[0].Key].setFaults(keys(d.CmdArgs[1:]))
	case "claim":
		p.addClaim(t, d)
	case "prepare":
		pod := podOf(d.CmdArgs[0].Key)
		if err := p.host.Prepare(t.Context(), pod, p.claimsOf(d.CmdArgs[1:])); err != nil {
			return "", err
		}
	case "unprepare":
		if err := p.host.Unprepare(t.Context(), podOf(d.CmdArgs[0].Key)); err != nil {
			return "", err
		}
	case "needs":
		return fmt.Sprintln(p.host.Needs("node-0", p.claimsOf(d.CmdArgs))), nil
	case "health":
		return "", p.report(d)
	case "await":
		return (<-p.unavailable) + " is unavailable\n", nil
	default:
		return p.print(d)
	}
	return "", nil
}

func (p *play) print(d *datadriven.TestData) (string, error) {
	var b strings.Builder
	switch file := folderOf(p.dir, "node-0").recordFile(); d.Cmd {
	case "devices":
		for _, device := range p.host.Devices("node-0", "default", d.CmdArgs[0].Key) {
			fmt.Fprintf(&b, "%s %s/%s cdi %v health %s %s\n", device.Driver, device.Pool, device.Device.Device, device.CDI,
				device.Health, device.Message)
		}
	case "taken":
		fmt.Fprintln(&b, p.host.Taken("node-0"))
	case "held":
		for _, held := range p.host.Held() {
			fmt.Fprintf(&b, "%s %s of pods %v with %d devices\n", held.Node, held.Claim.Name, held.Pods,
				len(held.Claim.Status.Allocation.Devices.Results))
		}
	case "record":
		data, err := os.ReadFile(file)
		return string(data), err
	case "write-record":
		return "", os.WriteFile(file, []byte(d.Input), 0o600)
	default:
		return "", fmt.Errorf("unknown command %s", d.Cmd)
	}
	return b.String(), nil
}

func (p *play) startHost(t *testing.T, d *datadriven.TestData) error {
	p.end()
	p.changed, p.unavailable = make(chan string, 1000), make(chan string, 10)
	opts := Options{
		Dir: p.dir, Nodes: []string{"node-0"},
		Registered:  func(_, driver string) { p.note("driver %s is real", driver) },
		Unavailable: func(_, driver string) { p.unavailable <- driver },
		Changed:     func(node string) { p.changed <- node },
	}
	for _, arg := range d.CmdArgs {
		after, err := time.ParseDuration(arg.Vals[0])
		switch arg.Key {
		case "simulated":
			opts.Simulated, err = arg.Vals, nil
		case "call-timeout":
			opts.CallTimeout = after
		case "wipe-delay":
			opts.WipeDelay = after
		}
		if err != nil {
			return err
		}
	}
	host, err := New(opts)
	if err != nil {
		p.end = func() {}
		return err
	}
	p.host = host
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if err := host.Open(); err != nil {
		t.Fatal(err)
	}
	running.Go(func() { host.Run(ctx) })
	p.end = func() { cancel(); running.Wait() }
	for _, name := range slices.Sorted(maps.Keys(p.drivers)) {
		if _, err := p.awaitRegistration(p.drivers[name]); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) startPlugin(t *testing.T, d *datadriven.TestData) (string, error) {
	driver := &testDriver{
		name:    d.CmdArgs[0].Key,
		note:    p.note,
		outcome: make(chan *registrationv1.RegistrationStatus, 10),
		reports: make(chan []*drahealthv1.DeviceHealth),
	}
	driver.info = &registrationv1.PluginInfo{Type: registrationv1.DRAPlugin}
	services := []string{"v1.DRAPlugin", "v1beta1.DRAPlugin"}
	registry := folderOf(p.dir, "node-0").registry()
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "driver":
			driver.info.Name = arg.Vals[0]
		case "services":
			services = arg.Vals
		case "type":
			driver.info.Type = arg.Vals[0]
		case "endpoint":
			driver.info.Endpoint = socketOf(registry, arg.Vals[0])
		case "folder":
			registry = filepath.Join(registry, arg.Vals[0])
		}
	}
	if err := os.MkdirAll(registry, 0o700); err != nil {
		t.Fatal(err)
	}
	driver.socket = socketOf(registry, driver.name)
	_ = os.Remove(driver.socket)
	driver.info.SupportedVersions = services
	p.drain()
	if err := driver.start(services); err != nil {
		return "", err
	}
	p.drivers[driver.name] = driver
	return p.awaitRegistration(driver)
}

// awaitRegistration waits until a plugin has been told of its registration and is connected.
func (p *play) awaitRegistration(driver *testDriver) (string, error) {
	select {
	case st := <-driver.outcome:
		if !st.PluginRegistered {
			return strings.ReplaceAll("refused: "+st.Error, p.dir, "DIR") + "\n", nil
		}
	case <-time.After(30 * time.Second):
		return "", fmt.Errorf("plugin %s is not registered", driver.name)
	}
	return "", p.await(func() bool { return p.isConnected(driver) })
}

// await waits for changes until the condition holds.
func (p *play) await(holds func() bool) error {
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-p.changed:
		case <-time.After(10 * time.Millisecond): // a lost connection does not signal a change for pods
		case <-deadline:
			return context.DeadlineExceeded
		}
	}
	return nil
}

// removeFolder deletes a folder, and waits until the plugins in it are not registered.
func (p *play) removeFolder(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, driver := range p.drivers {
		if !strings.HasPrefix(driver.socket, folder+"/") {
			continue
		}
		if err := p.await(func() bool { return !p.isRegistered(driver) }); err != nil {
			return err
		}
		driver.stop(false)
		delete(p.drivers, name)
	}
	return nil
}

func (p *play) drain() {
	for len(p.changed) > 0 {
		<-p.changed
	}
}

func (p *play) isConnected(d *testDriver) bool  { return p.find(d, (*plugin).isConnected) }
func (p *play) isRegistered(d *testDriver) bool { return p.find(d, func(*plugin) bool { return true }) }

// hasReports reports whether the host has health reports of the plugin. It drops them when the
// stream ends, which it may notice later than the end of the connection.
func (p *play) hasReports(d *testDriver) bool {
	return p.find(d, func(other *plugin) bool { return len(other.reports) > 0 })
}

// isLastReport reports whether these are the last reports that the host has.
func (p *play) isLastReport(d *testDriver, devices []*drahealthv1.DeviceHealth) bool {
	return p.find(d, func(other *plugin) bool {
		return !slices.ContainsFunc(devices, func(device *drahealthv1.DeviceHealth) bool {
			last := other.reports[deviceKey{device.GetDevice().GetPoolName(), device.GetDevice().GetDeviceName()}]
			return last.health != healthFrom(device.GetHealth()) || last.message != device.GetMessage()
		})
	})
}

func (p *plugin) isConnected() bool { return p.connected.Load() }

func (p *play) find(d *testDriver, match func(*plugin) bool) bool {
	endpoint := d.info.Endpoint
	if endpoint == "" {
		endpoint = d.socket
	}
	n := p.host.nodes["node-0"]
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.drivers[d.info.Name],
		func(other *plugin) bool { return other.endpoint == endpoint && match(other) })
}

func (p *play) report(d *datadriven.TestData) error {
	driver := p.drivers[d.CmdArgs[0].Key]
	var devices []*drahealthv1.DeviceHealth
	for _, arg := range d.CmdArgs[1:] {
		devices = append(devices, driver.report(arg.Key, arg.Vals[0]))
	}
	driver.reports <- devices
	return p.await(func() bool { return p.isLastReport(driver, devices) })
}

func (p *play) addClaim(t *testing.T, d *datadriven.TestData) {
	claim := &resource.ResourceClaim{}
	claim.Namespace, claim.Name = "default", d.CmdArgs[0].Key
	claim.UID = types.UID("uid-" + claim.Name)
	claim.Status.Allocation = &resource.AllocationResult{}
	var skip []resourcev1.SkipNodeOperation
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "uid":
			claim.UID = types.UID(arg.Vals[0])
		case "skip-operation":
			skip = append(skip, resourcev1.SkipNodeOperation(arg.Vals[0]))
		case "devices":
			for i, driver := range arg.Vals {
				result := resourcev1.DeviceRequestAllocationResult{
					Request:            "r",
					Driver:             driver,
					Pool:               "node-0",
					Device:             fmt.Sprintf("dev-%d", i),
					SkipNodeOperations: skip,
				}
				claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, result)
			}
		default:
			t.Fatalf("unknown argument %s", arg.Key)
		}
	}
	p.claims[claim.Name] = claim
}

func (p *play) claimsOf(args []datadriven.CmdArg) []*resource.ResourceClaim {
	var out []*resource.ResourceClaim
	for _, name := range keys(args) {
		out = append(out, p.claims[name])
	}
	return out
}

func podOf(name string) *core.Pod {
	pod := &core.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Spec.NodeName = "default", name, types.UID("pod-"+name), "node-0"
	return pod
}

func keys(args []datadriven.CmdArg) []string {
	var out []string
	for _, arg := range args {
		out = append(out, arg.Key)
	}
	return out
}
