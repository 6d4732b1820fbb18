package claims

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
)

const (
	// maxNameLength is the limit for label values and DNS labels, so that a generated name can be
	// used as either.
	maxNameLength = 63
	suffixLength  = 5
	// maxBaseLength leaves space for the hyphen and the suffix.
	maxBaseLength = maxNameLength - 1 - suffixLength
	// minPart is the minimum that remains of each of the two names when both are long.
	minPart = 12
	// suffixLetters are the characters that the API server uses for generated names: no vowels, and
	// no digits that resemble letters.
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
)

// baseName returns the readable part of a generated claim's name: owner and entry, shortened in
// proportion to their lengths if they are too long. A shortened part never ends in a dot or a
// hyphen, which would be invalid there (F37).
func baseName(owner, entry string) string {
	room := maxBaseLength - 1
	if len(owner)+len(entry) > room {
		share := len(entry) * room / (len(owner) + len(entry))
		share = max(share, min(len(entry), minPart))
		share = min(share, max(room-len(owner), room-minPart))
		owner, entry = cut(owner, room-share), cut(entry, share)
	}
	return owner + "-" + entry
}

// extendedEntry replaces the entry in the name of a claim for extended resources, as in upstream's
// scheduler.
const extendedEntry = "extended-resources"

// ExtendedName returns the name of the pod's claim for extended resources. The suffix is computed
// with an empty entry, which no entry of a pod can have, so that the name differs from that of a
// claim for an entry "extended-resources".
func ExtendedName(pod *core.Pod) string {
	return baseName(pod.Name, extendedEntry) + "-" + suffix(pod.UID, "", 0)
}

func cut(s string, n int) string { return strings.TrimRight(s[:min(n, len(s))], ".-") }

// suffix returns the part that makes a name unique. It is derived from the owner's random UID and
// the entry, so that every component generates a claim with the same name at any time. attempt is
// the number of earlier names that are used by unrelated claims.
func suffix(owner types.UID, entry string, attempt int) string {
	sum := sha256.Sum256([]byte(string(owner) + "/" + entry + "/" + strconv.Itoa(attempt)))
	n := binary.BigEndian.Uint64(sum[:8])
	var out [suffixLength]byte
	for i := range out {
		out[i] = suffixLetters[n%uint64(len(suffixLetters))]
		n /= uint64(len(suffixLetters))
	}
	return string(out[:])
}
