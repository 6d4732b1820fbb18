package snapshot

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Format is how a Snapshot is written.
type Format int

// Compressed is JSON in gzip. YAML and JSON are for people and tools.
const (
	Compressed Format = iota
	JSON
	YAML
)

// Write writes the Snapshot.
func (s *Snapshot) Write(w io.Writer, format Format) error {
	s.Sort()
	switch format {
	case YAML:
		data, err := yaml.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode snapshot: %w", err)
		}
		_, err = w.Write(data)
		return err
	case JSON:
		return s.writeJSON(w)
	}
	// The header has no name and no time, so that equal snapshots are equal files.
	zip := gzip.NewWriter(w)
	return errors.Join(s.writeJSON(zip), zip.Close())
}

func (s *Snapshot) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return nil
}

// Read reads a Snapshot in any Format.
func Read(r io.Reader) (*Snapshot, error) {
	in := bufio.NewReader(r)
	if head, err := in.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("not a snapshot: %w", err)
		}
		in = bufio.NewReader(zip)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	s := &Snapshot{}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = json.Unmarshal(data, s)
	} else {
		err = yaml.Unmarshal(data, s)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a snapshot: %w", err)
	case s.Kind != Kind:
		return nil, fmt.Errorf("not a snapshot: kind is %q, not %s", s.Kind, Kind)
	case s.APIVersion != APIVersion:
		return nil, fmt.Errorf("snapshot of version %q, this allot reads %s", s.APIVersion, APIVersion)
	}
	s.Sort()
	return s, nil
}
