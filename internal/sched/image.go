package sched

import (
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Images of less than the first size together are no reason to prefer a node; for each of a pod's uses of an image, no more
// than the second counts. They are upstream's.
const (
	megabyte     = 1024 * 1024
	leastImages  = 23 * megabyte
	mostPerImage = 1000 * megabyte
)

// locality says how much of what a pod's containers need each node has.
type locality struct {
	key           string    // the images
	images, nodes uint64    // versions
	of            []float64 // from 0 to 1, by the node's number; nil if no node has enough to matter
}

// locality is nil if images do not matter. An image counts for more the more nodes have it, so that not all pods run after the
// first.
func (p *Placer) locality(shape *model.Shape) *locality {
	if len(shape.Images) == 0 || !p.state.Images.Any() {
		return nil
	}
	key := strings.Join(shape.Images, "\x00")
	known, ok := p.images[key]
	if ok && known.images == p.state.Images.Version() && known.nodes == p.state.Nodes.Version() {
		return known
	}
	if len(p.images) >= maxSuited {
		clear(p.images)
	}
	known = &locality{key: key, images: p.state.Images.Version(), nodes: p.state.Nodes.Version(), of: p.localityOf(shape.Images)}
	p.images[key] = known
	return known
}

// at is how much the node has.
func (l *locality) at(info *model.NodeInfo) float64 {
	if l == nil || l.of == nil {
		return 0
	}
	return l.of[info.Number]
}

func (p *Placer) localityOf(images []string) []float64 {
	bytes := map[*model.NodeInfo]float64{}
	nodes := float64(len(p.state.Nodes.List()))
	for _, image := range images {
		on := p.state.Images.Nodes(image)
		share := float64(len(on)) / nodes
		for info, size := range on {
			bytes[info] += float64(size) * share
		}
	}
	var of []float64
	most := float64(mostPerImage * len(images))
	for info, n := range bytes {
		if n <= leastImages {
			continue
		}
		if of == nil {
			of = make([]float64, p.state.Nodes.Numbers())
		}
		of[info.Number] = (min(n, most) - leastImages) / (most - leastImages)
	}
	return of
}
