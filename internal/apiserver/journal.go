package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
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
func (j journal) Begin(
	ctx context.Context, name string, entry []byte, versions map[string]int64,
) (changed []string, err error) {
	key := journalPrefix + name
	objects := slices.Sorted(maps.Keys(versions))
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}
	otherwise := []clientv3.Op{clientv3.OpGet(key, clientv3.WithKeysOnly())}
	for _, object := range objects {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(etcdPrefix+object), "=", versions[object]))
		otherwise = append(otherwise, clientv3.OpGet(etcdPrefix+object, clientv3.WithKeysOnly()))
	}
	for {
		resp, err := j.etcd.Txn(ctx).If(conditions...).Then(clientv3.OpPut(key, string(entry))).Else(otherwise...).Commit()
		switch {
		case err == nil && resp.Succeeded:
			return nil, nil
		case err == nil:
			return changedObjects(resp, objects, versions), nil
		case isRejected(err):
			return nil, fmt.Errorf("record the placement: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("record the placement: %w", err)
		case <-time.After(journalPause):
		}
	}
}

// changedObjects returns the objects whose versions are others than the conditions of Begin wanted,
// or none if the entry was stored by an earlier repetition.
func changedObjects(resp *clientv3.TxnResponse, objects []string, versions map[string]int64) []string {
	found := func(i int) []*mvccpb.KeyValue { return resp.Responses[i].GetResponseRange().Kvs }
	if len(found(0)) > 0 {
		return nil
	}
	var changed []string
	for i, object := range objects {
		var version int64 // 0 if the object does not exist
		if kvs := found(i + 1); len(kvs) > 0 {
			version = kvs[0].ModRevision
		}
		if version != versions[object] {
			changed = append(changed, object)
		}
	}
	return changed
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
