package score

import (
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Images below the first size in total are no reason to prefer a node; of each of a pod's uses of
// an image, no more than the second counts. Both are upstream's.
const (
	megabyte     = 1024 * 1024
	leastImages  = 23 * megabyte
	mostPerImage = 1000 * megabyte
)

// images has the share of the images of a pod's containers that each node has.
type images struct {
	key           string    // the images
	images, nodes uint64    // versions
	shares        []float64 // from 0 to 1, by the node's number; nil if no node has enough to matter
}

func hasImages(in *Input) bool { return in.images != nil }

// scoreImages prefers nodes with the images of the pod: all of them count for as much as the whole
// load of a node.
func scoreImages(in *Input, info *model.NodeInfo) float64 {
	if in.images.shares == nil {
		return 0
	}
	return -in.images.shares[info.Number]
}

// imagesOf returns nil if images do not matter.
func (c *Cache) imagesOf(shape *model.Shape) *images {
	if len(shape.Images) == 0 || !c.state.Images.Any() {
		return nil
	}
	key := strings.Join(shape.Images, "\x00")
	known, ok := c.images[key]
	if ok && known.images == c.state.Images.Version() && known.nodes == c.state.Nodes.Version() {
		return known
	}
	if len(c.images) >= maxImages {
		clear(c.images)
	}
	known = &images{
		key: key, images: c.state.Images.Version(), nodes: c.state.Nodes.Version(),
		shares: imageShares(c.state, shape.Images),
	}
	c.images[key] = known
	return known
}

// imageShares counts an image for more the more nodes have it, so that not all pods follow the
// first one.
func imageShares(state *model.State, names []string) []float64 {
	bytes := map[*model.NodeInfo]float64{}
	nodes := float64(len(state.Nodes.List()))
	for _, name := range names {
		on := state.Images.Nodes(name)
		share := float64(len(on)) / nodes
		for info, size := range on {
			bytes[info] += float64(size) * share
		}
	}
	var shares []float64
	most := float64(mostPerImage * len(names))
	for info, n := range bytes {
		if n <= leastImages {
			continue
		}
		if shares == nil {
			shares = make([]float64, state.Nodes.Numbers())
		}
		shares[info.Number] = (min(n, most) - leastImages) / (most - leastImages)
	}
	return shares
}
