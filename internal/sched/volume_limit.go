package sched

import "github.com/allot-dev/allot/internal/model"

// dynamic tests what changes with the pods on the nodes.
func (j *job) dynamic(c *class, info *model.NodeInfo) miss {
	if m := c.fitter.dynamic(j.state, info); m.check != "" || !j.limited(c) {
		return m
	}
	return j.attachable(c, info)
}

// limited says whether it may matter which volumes are attached to nodes.
func (j *job) limited(c *class) bool { return len(c.mounts) > 0 && j.state.HasVolumeLimits() }

// attachable tests whether the class's volumes can be attached to the node beside those of the pods there. One that several
// pods use is attached once.
func (j *job) attachable(c *class, info *model.NodeInfo) miss {
	attached := map[string]map[string]bool{} // handles by driver
	for i := range c.mounts {
		volume := c.mounts[i].volume
		limit, limited := j.state.VolumeLimit(info.Name, volume.Driver)
		if !limited {
			continue
		}
		handles, known := attached[volume.Driver]
		if !known {
			handles = j.state.Attached(info.Name, volume.Driver)
			attached[volume.Driver] = handles
		}
		if handles[volume.Handle] {
			continue
		}
		if handles[volume.Handle] = true; len(handles) > limit {
			return miss{check: CheckVolumeLimit, detail: volume.Driver}
		}
	}
	return miss{}
}
