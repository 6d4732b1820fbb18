package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Pair is a certificate and its key, both in PEM form.
type Pair struct {
	Cert, Key []byte
}

// unusable is the reason why a stored pair must be replaced.
type unusable struct{ error }

func isUnusable(err error) bool { return errors.As(err, &unusable{}) }

// readPair loads <name>.crt and <name>.key. It returns an unusable error if the files are missing
// or do not match: then they can be replaced. Files that cannot be read must not be replaced.
func readPair(dir, name string) (Pair, *x509.Certificate, *ecdsa.PrivateKey, error) {
	var files [2][]byte
	for i, suffix := range []string{".crt", ".key"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name+suffix)); errors.Is(err, fs.ErrNotExist) {
			return Pair{}, nil, nil, unusable{err}
		} else if err != nil {
			return Pair{}, nil, nil, err
		}
	}
	cert, key := files[0], files[1]
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return Pair{}, nil, nil, unusable{err}
	}
	private, ok := both.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return Pair{}, nil, nil, unusable{errors.New("key is not an ECDSA key")}
	}
	return Pair{Cert: cert, Key: key}, both.Leaf, private, nil
}

// writePair writes the key first, so that a reader of the new certificate finds its key.
func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	p := Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
	for _, f := range []struct {
		suffix string
		data   []byte
	}{{".key", p.Key}, {".crt", p.Cert}} {
		if err := renameio.WriteFile(filepath.Join(dir, name+f.suffix), f.data, 0o600); err != nil {
			return Pair{}, err
		}
	}
	return p, nil
}
