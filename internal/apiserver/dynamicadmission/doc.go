// Package dynamicadmission enforces what the objects of admissionregistration.k8s.io configure:
// admission webhooks, and policies in CEL; and ResourceQuotas. The plugins are those of
// k8s.io/apiserver, in the order of kube-apiserver, behind the rules that are built into the
// server: MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy,
// ValidatingAdmissionWebhook, ResourceQuota.
//
// Invariants:
//
//   - A plugin is built when the first object that configures it is seen. Until then a request
//     costs it the look at one pointer, and the server no more than the watches of seven kinds of
//     which there are no objects.
//   - No request is decided before the configuration that was stored at the start is known.
//   - The result of checking a policy's expressions against types is written by the server itself,
//     without a controller.
//   - A webhook that names a Service is sent to a ready endpoint of it, or to its external name,
//     which is looked up for each connection.
//
// The package decides nothing itself: what a webhook or a policy says is up to the plugins.
package dynamicadmission
