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
	// maxNameLength keeps a generated name usable as a label value and a DNS label.
	maxNameLength = 63
	suffixLength  = 5
	// maxBaseLength leaves room for the hyphen and the suffix.
	maxBaseLength = maxNameLength - 1 - suffixLength
	// minPart is what is left at least of each of the two names when both are long.
	minPart = 12
	// suffixLetters are those that the API server uses for generated names: no vowels,
	// no digits that look like letters.
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
)

// baseName is the readable part of a generated claim's name: owner and entry,
// each cut in proportion to its length where the two do not fit. A cut never leaves
// a dot or a hyphen at the end of a part, where names must not have one (F37).
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

// extendedEntry stands in names for a pod's claim in the place of extended resources, as upstream's scheduler has it.
const extendedEntry = "extended-resources"

// ExtendedName is the name of the claim from which the pod gets devices in the place of extended resources. That no entry
// is empty keeps it apart from a claim for an entry of the pod that is called the same.
func ExtendedName(pod *core.Pod) string {
	return baseName(pod.Name, extendedEntry) + "-" + suffix(pod.UID, "", 0)
}

func cut(s string, n int) string { return strings.TrimRight(s[:min(n, len(s))], ".-") }

// suffix is the part that makes a name unique. It looks random and is not: it
// follows from the owner's UID, which is random, and the entry, so that whoever makes
// this claim, at whatever time, makes it under the same name. Attempt counts the
// names before it that were taken by claims of others.
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
