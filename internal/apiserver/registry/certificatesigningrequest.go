package registry

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

const certificatesGroup = certificatesv1.GroupName

// certificateSigningRequests are approved through one subresource and signed through another.
// Admission decides which users may do that.
func certificateSigningRequests(now func() time.Time) entry {
	type request = certificatesv1.CertificateSigningRequest
	return &kind[request, *request]{
		names: names{
			group: certificatesGroup, versions: v1, plural: "certificatesigningrequests",
			singular: "certificatesigningrequest", short: []string{"csr"}, cluster: true,
		},
		newList:       func() runtime.Object { return &certificatesv1.CertificateSigningRequestList{} },
		defaults:      noDefaults[*request],
		printer:       printers.CertificateSigningRequest,
		class:         rbac.Cluster,
		subresources:  map[string]rbac.Class{"approval": rbac.Cluster},
		spec:          func(r *request) any { return &r.Spec },
		status:        func(r *request) any { return &r.Status },
		fixed:         []fieldpath.Path{fieldpath.MakePathOrDie("spec")},
		fixedByStatus: []fieldpath.Path{fieldpath.MakePathOrDie("status", "conditions")},

		prepareCreate: setRequester,
		prepareUpdate: func(_ context.Context, r, old *request) { r.Spec = old.Spec },
		prepareStatus: func(r, old *request) {
			keepCondition(r, old, certificatesv1.CertificateApproved)
			keepCondition(r, old, certificatesv1.CertificateDenied)
			dateConditions(r, old, now())
		},
		fields: func(r *request) fields.Set { return fields.Set{"spec.signerName": r.Spec.SignerName} },

		validate:       validation.ValidateCertificateSigningRequest,
		validateUpdate: validation.ValidateCertificateSigningRequestUpdate,
		validateStatus: validation.ValidateCertificateSigningRequestStatusUpdate,
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			approval := approvalStrategy{store.UpdateStrategy.(strategy[request, *request]), now}
			return map[string]rest.Storage{"approval": newPart(store, approval)}
		},
	}
}

// setRequester records the user of the request. A client cannot choose it.
func setRequester(ctx context.Context, r *certificatesv1.CertificateSigningRequest) {
	r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra = "", "", nil, nil
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return
	}
	r.Spec.Username, r.Spec.UID, r.Spec.Groups = who.GetName(), who.GetUID(), who.GetGroups()
	for key, values := range who.GetExtra() {
		if r.Spec.Extra == nil {
			r.Spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		r.Spec.Extra[key] = values
	}
}

// keepCondition restores the stored conditions of a type, unless some were added or removed:
// validation reports that.
func keepCondition(r, old *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) {
	before, after := conditionsOf(old, t), conditionsOf(r, t)
	if len(before) != len(after) {
		return
	}
	for i := range after {
		*after[i] = *before[i]
	}
}

// conditionsOf returns the conditions of a type.
func conditionsOf(
	r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType,
) []*certificatesv1.CertificateSigningRequestCondition {
	var out []*certificatesv1.CertificateSigningRequestCondition
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Type == t {
			out = append(out, c)
		}
	}
	return out
}

// dateConditions sets the times that a client has left out. A condition whose status stays keeps the
// time of its last transition.
func dateConditions(r, old *certificatesv1.CertificateSigningRequest, now time.Time) {
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = metav1.NewTime(now)
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = metav1.NewTime(now)
		for _, before := range conditionsOf(old, c.Type) {
			if before.Status == c.Status && !before.LastTransitionTime.IsZero() {
				c.LastTransitionTime = before.LastTransitionTime
				break
			}
		}
	}
}

// approvalStrategy is the update strategy of the approval subresource, which changes conditions
// only.
type approvalStrategy struct {
	strategy[certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequest]
	now func() time.Time
}

// PrepareForUpdate keeps everything except the conditions and the metadata.
func (s approvalStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	r, o := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	sameType(r, o)
	dateConditions(r, o, s.now())
	conditions := r.Status.Conditions
	r.Spec, r.Status = o.Spec, o.Status
	r.Status.Conditions = conditions
}

func (s approvalStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateCertificateSigningRequestApproval(
		obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest))
}

func (s approvalStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.kind.names.fieldSets(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status", "certificate"))
}
