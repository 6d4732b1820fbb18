package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ImageStore holds which nodes have which container images.
type ImageStore struct {
	byName  map[string]map[*NodeInfo]int64 // sizes in bytes, by name
	version uint64
}

func newImageStore() ImageStore { return ImageStore{byName: map[string]map[*NodeInfo]int64{}} }

// Any reports whether any node reports images.
func (s *ImageStore) Any() bool { return len(s.byName) > 0 }

// Nodes returns the nodes that have an image, with its size in bytes. The name must be in the form
// of imageName. The map must not be changed.
func (s *ImageStore) Nodes(name string) map[*NodeInfo]int64 { return s.byName[name] }

// Version returns a version that increases with every change of the results of Nodes.
func (s *ImageStore) Version() uint64 { return s.version }

func (s *ImageStore) add(info *NodeInfo, node *Node) {
	for _, image := range node.images() {
		s.version++
		for _, name := range image.Names {
			name = imageName(name)
			if s.byName[name] == nil {
				s.byName[name] = map[*NodeInfo]int64{}
			}
			s.byName[name][info] = image.SizeBytes
		}
	}
}

func (s *ImageStore) remove(info *NodeInfo, node *Node) {
	for _, image := range node.images() {
		s.version++
		for _, name := range image.Names {
			name = imageName(name)
			if delete(s.byName[name], info); len(s.byName[name]) == 0 {
				delete(s.byName, name)
			}
		}
	}
}

func (n *Node) images() []corev1.ContainerImage {
	if n == nil {
		return nil
	}
	return n.Images
}

// sameImages reports whether two versions of a node have the same images.
func sameImages(a, b *Node) bool {
	return slices.EqualFunc(a.images(), b.images(), func(x, y corev1.ContainerImage) bool {
		return x.SizeBytes == y.SizeBytes && slices.Equal(x.Names, y.Names)
	})
}

// imagesFrom returns the images that a pod uses, one entry for each use.
func imagesFrom(spec *corev1.PodSpec) []string {
	var images []string
	add := func(name string) {
		if name != "" {
			images = append(images, imageName(name))
		}
	}
	for i := range spec.InitContainers {
		add(spec.InitContainers[i].Image)
	}
	for i := range spec.Containers {
		add(spec.Containers[i].Image)
	}
	for i := range spec.Volumes {
		if image := spec.Volumes[i].Image; image != nil {
			add(image.Reference)
		}
	}
	return images
}

// imageName adds the default tag if there is none.
func imageName(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
