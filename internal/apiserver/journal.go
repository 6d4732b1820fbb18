package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// journalPrefix is the prefix of the keys of the journal. It is outside of the prefix of objects,
// so that kube-apiserver does not see it (R46).
const journalPrefix = "/allot/journal/"

// journalPause is the delay before etcd is asked again that did not respond.
const journalPause = 100 * time.Millisecond

// journal implements registry.Journal in the embedded etcd.
type journal struct {
	etcd *clientv3.Client
}

var _ registry.Journal = journal{}

// journal returns the journal of the embedded etcd, or nil with an external one: a server that is
// killed could leave an entry there while other servers go on.
func (b *backend) journal() registry.Journal {
	if b.client == nil {
		return nil
	}
	return journal{b.client.Client}
}

// Begin implements registry.Journal. If etcd does not respond, the transaction is repeated: its
// result must be known.
func (j journal) Begin(ctx context.Context, name string, entry []byte, versions map[string]int64) (bool, error) {
	key := journalPrefix + name
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}
	for object, version := range versions {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(etcdPrefix+object), "=", version))
	}
	for {
		resp, err := j.etcd.Txn(ctx).If(
			conditions...).Then(
			clientv3.OpPut(key, string(entry)),
		).Else(clientv3.OpGet(key)).Commit()
		switch {
		case err == nil && resp.Succeeded:
			return true, nil
		case err == nil:
			return len(resp.Responses[0].GetResponseRange().Kvs) > 0, nil // by an earlier repetition
		case isRejected(err):
			return false, fmt.Errorf("record the placement: %w", err)
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("record the placement: %w", err)
		case <-time.After(journalPause):
		}
	}
}

// isRejected reports whether etcd has rejected a request, such as one that is too large.
func isRejected(err error) bool {
	var rejection rpctypes.EtcdError
	return errors.As(err, &rejection) &&
		(rejection.Code() == codes.InvalidArgument || rejection.Code() == codes.ResourceExhausted)
}

// End implements registry.Journal.
func (j journal) End(ctx context.Context, name string) error {
	if _, err := j.etcd.Delete(ctx, journalPrefix+name); err != nil {
		return fmt.Errorf("end entry %s of the journal: %w", name, err)
	}
	return nil
}

// Open implements registry.Journal.
func (j journal) Open(ctx context.Context) (map[string][]byte, error) {
	resp, err := j.etcd.Get(ctx, journalPrefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	entries := map[string][]byte{}
	for _, kv := range resp.Kvs {
		entries[strings.TrimPrefix(string(kv.Key), journalPrefix)] = kv.Value
	}
	return entries, nil
}
