// Package certificates approves, signs and deletes CertificateSigningRequests.
//
// Approvals decides which permissions approve a request: client certificates of kubelets are
// approved if the requester may create the subresource selfnodeclient or nodeclient of the requests.
// All other requests wait for a person or another controller. Approved requests for the four signers
// of Kubernetes are signed by the authority of the cluster if they fit their signer, and fail
// otherwise; Fault decides that. Expiry decides when a request is deleted.
//
// The controller never approves what was denied, signs nothing that was not approved, and does not
// change a certificate.
package certificates
