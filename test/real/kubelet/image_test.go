package kubelet

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// image is a name of the image that has only the program app, which waits by default. The image of
// KEP-5729's example is the same one.
const (
	image    = "allot.test/app:1"
	kepImage = "registry.k8s.io/pause:3.6"
)

// writeImage writes an archive with the image, and returns its path.
func writeImage(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(program("app"))
	if err != nil {
		t.Fatal(err)
	}
	layer := archive(t, file{"app", content, ""}, file{"tar", nil, "app"}, file{"test", nil, "app"})
	sum := sha256.Sum256(layer)
	config := encode(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/app"}, "Env": []string{"PATH=/"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	manifest := encode(t, []map[string]any{
		{"Config": "config.json", "RepoTags": []string{image, kepImage}, "Layers": []string{"layer.tar"}},
	})
	path := filepath.Join(dir, "image.tar")
	whole := archive(t, file{"layer.tar", layer, ""}, file{"config.json", config, ""},
		file{"manifest.json", manifest, ""})
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// file is one of an archive: with content, or a link.
type file struct {
	name    string
	content []byte
	link    string
}

func archive(t *testing.T, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.content))}
		if f.link != "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, f.link
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
