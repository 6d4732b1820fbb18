package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Mesh is a two-dimensional mesh of chips, of which parts of certain shapes can be used: the slices
// of a TPU pod. It consists of tiles, each with hosts of its own. A device is one of the shapes at
// one of its positions, which are multiples of its size. Devices that share a tile exclude each
// other, by a counter of the tile.
type Mesh struct {
	Driver     string
	Size, Tile Shape
	Shapes     []Shape
}

// Shape is a number of chips in each dimension.
type Shape struct{ X, Y int }

func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.X, s.Y) }

// dividedBy returns how often another shape fits, in each dimension.
func (s Shape) dividedBy(other Shape) Shape { return Shape{s.X / other.X, s.Y / other.Y} }

func (s Shape) isMultipleOf(other Shape) bool {
	return s.X%other.X == 0 && s.Y%other.Y == 0 && s.X > 0 && s.Y > 0
}

// tiles returns the number of tiles.
func (m *Mesh) tiles() int {
	grid := m.Size.dividedBy(m.Tile)
	return grid.X * grid.Y
}

// devices returns the number of devices.
func (m *Mesh) devices() int {
	n := 0
	for _, shape := range m.Shapes {
		positions := m.Size.dividedBy(shape)
		n += positions.X * positions.Y
	}
	return n
}

const (
	// counterSet is the name of the counters of the tiles of a mesh.
	counterSet = "tiles"
	// ShapeAttribute has the shape of a device of a mesh, such as 4x8.
	ShapeAttribute = "shape"
	// ChipsAttribute has its number of chips.
	ChipsAttribute = "chips"
)

// slices returns the slices of one mesh, whose tiles have these values of a node label.
func (m *Mesh) slices(fleetName, pool, label string, tiles []string) []resourcev1.ResourceSlice {
	yes := true
	spec := resourcev1.ResourceSliceSpec{Driver: m.Driver, PerDeviceNodeSelection: &yes}
	spec.Pool.Name = pool
	out := split(fleetName, spec, m.expand(label, tiles), resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures)
	counters := out[0].DeepCopy()
	counters.Name = fmt.Sprintf("%s-%s-%s", pool, m.Driver, counterSet)
	counters.Spec.Devices = nil
	counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: counterSet, Counters: map[string]resourcev1.Counter{}}}
	for i := range tiles {
		counters.Spec.SharedCounters[0].Counters[tileName(i)] = oneCounter()
	}
	out = append(out, *counters)
	for i := range out {
		out[i].Spec.Pool.ResourceSliceCount = int64(len(out))
	}
	return out
}

func tileName(i int) string { return "tile-" + strconv.Itoa(i) }

func oneCounter() resourcev1.Counter { return resourcev1.Counter{Value: resource.MustParse("1")} }

// expand returns the devices of all shapes.
func (m *Mesh) expand(label string, tiles []string) []resourcev1.Device {
	var out []resourcev1.Device
	for _, shape := range m.Shapes {
		positions := m.Size.dividedBy(shape)
		for i := range positions.X * positions.Y {
			at := Shape{i / positions.Y * shape.X, i % positions.Y * shape.Y}
			out = append(out, m.device(shape, at, i, label, tiles))
		}
	}
	return out
}

// device returns the device of a shape at the chip with these coordinates.
func (m *Mesh) device(shape, at Shape, index int, label string, tiles []string) resourcev1.Device {
	chips, text := int64(shape.X)*int64(shape.Y), shape.String()
	consumed := resourcev1.DeviceCounterConsumption{CounterSet: counterSet, Counters: map[string]resourcev1.Counter{}}
	var names []string
	for _, tile := range m.covered(shape, at) {
		consumed.Counters[tileName(tile)] = oneCounter()
		names = append(names, tiles[tile])
	}
	return resourcev1.Device{
		Name: fmt.Sprintf("slice-%s-%d", text, index),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			ShapeAttribute: {StringValue: &text}, ChipsAttribute: {IntValue: &chips},
		},
		ConsumesCounters: []resourcev1.DeviceCounterConsumption{consumed},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: label, Operator: corev1.NodeSelectorOpIn, Values: names},
			},
		}}},
	}
}

// covered returns the tiles of a shape at the chip with these coordinates.
func (m *Mesh) covered(shape, at Shape) []int {
	var tiles []int
	width := m.Size.dividedBy(m.Tile).Y
	for x := at.X / m.Tile.X; x < (at.X+shape.X)/m.Tile.X; x++ {
		for y := at.Y / m.Tile.Y; y < (at.Y+shape.Y)/m.Tile.Y; y++ {
			tiles = append(tiles, x*width+y)
		}
	}
	return tiles
}

func readMesh(v value) *Mesh {
	m := &Mesh{Driver: DefaultDriver, Size: Shape{1, 1}, Tile: Shape{1, 1}}
	v.fields(map[string]func(value){
		"driver": func(v value) { m.Driver = v.driverName() },
		"size":   func(v value) { m.Size = readShape(v) },
		"tile":   func(v value) { m.Tile = readShape(v) },
		"shapes": func(v value) { m.Shapes = readAll(v, readShape) },
	})
	m.check(v)
	return m
}

// check validates that shapes consist of tiles and divide the mesh, and the limits of the API.
func (m *Mesh) check(v value) {
	if !m.Size.isMultipleOf(m.Tile) {
		v.complain("the tile %s does not divide the size %s", m.Tile, m.Size)
		return
	}
	if n := m.tiles(); n > resourcev1.ResourceSliceMaxCountersPerCounterSet {
		v.complain("has %d tiles, at most %d are possible", n, resourcev1.ResourceSliceMaxCountersPerCounterSet)
	}
	for i, shape := range m.Shapes {
		if !shape.isMultipleOf(m.Tile) || !m.Size.isMultipleOf(shape) {
			v.complain("the shape %s does not consist of tiles, or does not divide the size %s", shape, m.Size)
		}
		if slices.Contains(m.Shapes[:i], shape) {
			v.complain("has the shape %s twice", shape)
		}
	}
	if len(m.Shapes) == 0 {
		v.complain("needs shapes")
	}
}

// readShape reads a shape such as 4x8.
func readShape(v value) Shape {
	x, y, _ := strings.Cut(v.text(), "x")
	s := Shape{}
	var err error
	if s.X, err = strconv.Atoi(x); err == nil {
		s.Y, err = strconv.Atoi(y)
	}
	if err != nil || s.X < 1 || s.Y < 1 || s.X > MaxDevices || s.Y > MaxDevices {
		v.complain("must be a shape such as 4x8, is %s", kindOf(v.node))
		return Shape{1, 1}
	}
	return s
}
