package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/allot-dev/allot/internal/controller/certificates"
	"github.com/allot-dev/allot/internal/pki"
)

// signingOptions are the flags for the authority that signs requested certificates.
type signingOptions struct {
	cert, key string
}

func (o *signingOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.cert, "cluster-signing-cert-file", "",
		"certificate of the authority that signs requested certificates, such as pki/ca.crt in the data directory of\n"+
			"allot apiserver; without it none is signed")
	flags.StringVar(&o.key, "cluster-signing-key-file", "", "key of that authority, such as pki/ca.key")
}

func (o *signingOptions) check() error {
	if o.cert == "" && o.key == "" {
		return nil
	}
	if o.cert == "" || o.key == "" {
		return errors.New("--cluster-signing-cert-file and --cluster-signing-key-file must be given together")
	}
	if err := o.files().Check(); err != nil {
		return fmt.Errorf("--cluster-signing-cert-file: %w", err)
	}
	return nil
}

func (o *signingOptions) files() pki.Files { return pki.Files{Cert: o.cert, Key: o.key, Now: time.Now} }

// issuer returns the authority, or nil if there is none.
func (o *signingOptions) issuer() certificates.Issuer {
	if o.cert == "" {
		return nil
	}
	return o.files()
}
