package picture

import (
	"cmp"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// canvas collects the nodes, pools and claims of one Picture.
type canvas struct {
	*Painter
	kinds *kindTable
	// deviceClasses are sorted by name.
	deviceClasses []*model.Class

	nodes map[string]*Node
	pools map[string]*Pool
	// unused has the claims with devices that no pod on a node uses.
	unused map[model.Key]bool
	// unpublished are the devices of claims that no slice has, with their claims.
	unpublished map[model.DeviceID]*lostDevice
}

// lostDevice is a device that is not published any more.
type lostDevice struct {
	node   string // the only node from which it could be used, or ""
	claims []string
}

// claims returns the claims, sorted.
func (c *canvas) claims(users map[model.Key]*claimUsers) []*Claim {
	c.unpublished = map[model.DeviceID]*lostDevice{}
	list := map[string]*Claim{}
	for claim := range c.world.Claims.All() {
		key := model.KeyOf(claim)
		known, ok := c.world.State.Claims.Get(key)
		if !ok {
			continue
		}
		painted := claimOf(claim, known, users[key], &c.world.State.Devices)
		list[painted.key] = painted
		c.unused[key] = painted.State == Reserved
		if known.Allocation != nil {
			c.findUnpublished(known)
		}
	}
	return sorted(list)
}

// findUnpublished adds the devices of a claim that no slice has.
func (c *canvas) findUnpublished(claim *model.Claim) {
	for i := range claim.Allocation.Devices {
		id := model.DeviceIDOf(claim.Allocation.Devices[i])
		if view, ok := c.world.State.Devices.View(id.PoolID()); ok {
			if _, ok := view.Index(id.Device); ok {
				continue
			}
		}
		if c.unpublished[id] == nil {
			c.unpublished[id] = &lostDevice{node: nodeOfAllocation(claim.Allocation)}
		}
		c.unpublished[id].claims = append(c.unpublished[id].claims, claim.Key.String())
	}
}

// paint adds the nodes, and all devices.
func (c *canvas) paint() {
	for node := range c.world.Nodes.All() {
		painted := nodeOf(node, c.cluster.RackLabel)
		if info, ok := c.world.State.Nodes.Get(node.Name); ok {
			painted.Pods = len(info.Pods)
		}
		c.nodes[node.Name] = painted
	}
	c.classes.StartAttempt(0)
	for _, class := range c.world.Classes.List() {
		if known, ok := c.world.State.Classes.Get(class.Name); ok {
			c.deviceClasses = append(c.deviceClasses, known)
		}
	}
	known := map[model.PoolID]bool{}
	for slice := range c.world.Slices.All() {
		known[model.PoolID{Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name}] = true
	}
	for _, id := range sortedPools(known) {
		if view, ok := c.world.State.Devices.View(id); ok {
			c.paintPool(&view)
		}
	}
	c.paintUnpublished()
}

func sortedPools(ids map[model.PoolID]bool) []model.PoolID {
	list := make([]model.PoolID, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	slices.SortFunc(list, func(a, b model.PoolID) int {
		return cmp.Or(cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Pool, b.Pool))
	})
	return list
}

// paintPool adds the devices of a published pool.
func (c *canvas) paintPool(view *model.PoolView) {
	kinds := c.kindsOf(view)
	summary := alloc.NewPoolSummary(view)
	usable, problem := view.Usable()
	for i := range view.Devices {
		d := Device{Name: view.Devices[i].Name, Kind: kinds(i)}
		d.State, d.Why = c.deviceState(view, i, &d.Claims)
		switch {
		case d.State != DeviceFree:
		case !usable:
			d.State, d.Why = DeviceUnavailable, problem
		default:
			if why := summary.UnavailableReason(i); why != "" {
				d.State, d.Why = DeviceUnavailable, "it "+why
			}
		}
		c.add(view.ID, view.Devices[i].Scope.Node, d)
	}
}

// deviceState returns the state of a device from its taints and holders, and adds the claims that hold it.
func (c *canvas) deviceState(view *model.PoolView, i int, claims *[]string) (state DeviceState, why string) {
	state = DeviceFree
	for n, holder := range view.Holders(i) {
		if holder.Kind != model.ByClaim || n > 0 && holder == view.Holders(i)[n-1] {
			continue
		}
		*claims = append(*claims, holder.Claim.String())
		switch {
		case len(*claims) > 1:
			state = DeviceShared
		case c.unused[holder.Claim]:
			state = DeviceReserved
		default:
			state = DeviceHeld
		}
	}
	switch taint, rule := view.PreventingTaint(i); {
	case rule != nil:
		return DeviceTainted, model.TaintText(taint) + " by DeviceTaintRule " + rule.Name
	case taint != nil:
		return DeviceTainted, model.TaintText(taint) + " by its driver"
	}
	return state, ""
}

// kindsOf returns the kinds of the devices of a pool, by index. Devices with indices that follow
// each other are mostly of one kind.
func (c *canvas) kindsOf(view *model.PoolView) func(i int) int {
	type match struct {
		class   string
		devices model.Bits
	}
	var matches []match
	for _, class := range c.deviceClasses {
		devices, _ := c.classes.ClassDevices(view, class)
		matches = append(matches, match{class.Name, devices})
	}
	last := -1
	return func(i int) int {
		same := i > 0 && last >= 0
		for m := 0; same && m < len(matches); m++ {
			same = matches[m].devices.Has(i) == matches[m].devices.Has(i-1)
		}
		if same {
			return last
		}
		kind := Kind{Driver: view.ID.Driver}
		for m := range matches {
			if matches[m].devices.Has(i) {
				kind.Classes = append(kind.Classes, matches[m].class)
			}
		}
		last = c.kinds.index(kind)
		return last
	}
}

// add adds a device to the node from which it can be used, or to its pool.
func (c *canvas) add(id model.PoolID, node string, d Device) {
	if n := c.nodes[node]; n != nil {
		if id.Pool != node {
			d.Pool = id.Pool
		}
		n.Devices = append(n.Devices, d)
		return
	}
	key := id.String()
	if c.pools[key] == nil {
		c.pools[key] = &Pool{Driver: id.Driver, Name: id.Pool}
	}
	c.pools[key].Devices = append(c.pools[key].Devices, d)
}

// paintUnpublished adds the devices of claims that no slice has. Their classes are not known.
func (c *canvas) paintUnpublished() {
	ids := make([]model.DeviceID, 0, len(c.unpublished))
	for id := range c.unpublished {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b model.DeviceID) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range ids {
		lost := c.unpublished[id]
		slices.Sort(lost.claims)
		c.add(id.PoolID(), lost.node, Device{
			Name: id.Device, Kind: c.kinds.index(Kind{Driver: id.Driver}), State: DeviceUnpublished,
			Claims: slices.Compact(lost.claims),
		})
	}
}
