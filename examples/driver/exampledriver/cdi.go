package exampledriver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// cdiSpec is a file of the Container Device Interface: what a container runtime changes in a
// container with one of the devices.
type cdiSpec struct {
	Version string      `json:"cdiVersion"`
	Kind    string      `json:"kind"`
	Devices []cdiDevice `json:"devices"`
}

type cdiDevice struct {
	Name  string   `json:"name"`
	Edits cdiEdits `json:"containerEdits"`
}

type cdiEdits struct {
	Env []string `json:"env"`
}

// cdiKind returns the kind of the driver's devices, which their CDI device IDs begin with.
func (o options) cdiKind() string { return o.name + "/device" }

// writeCDI writes the file with all devices: a container with gpu-1 has GPU_DEVICE_1=gpu-1 in its
// environment. A driver with real devices would add their device nodes and libraries.
func (o options) writeCDI() error {
	if o.cdi == "" {
		return nil
	}
	spec := cdiSpec{Version: "0.6.0", Kind: o.cdiKind()}
	for i := range o.devices {
		env := fmt.Sprintf("GPU_DEVICE_%d=%s", i, deviceName(i))
		spec.Devices = append(spec.Devices, cdiDevice{Name: deviceName(i), Edits: cdiEdits{Env: []string{env}}})
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.cdi, 0o750); err != nil {
		return err
	}
	return replace(filepath.Join(o.cdi, o.name+".json"), data)
}

// replace replaces a file as a whole, so that no reader sees a part of it.
func replace(path string, data []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
