// Package namespacedefaults creates what each namespace has in Kubernetes: the ServiceAccount
// "default", and the ConfigMap "kube-root-ca.crt" with the certificates by which clients in pods
// verify the API server. An object that is deleted is created again, and a ConfigMap that is
// changed gets its content back. A namespace that is being deleted is left alone.
package namespacedefaults
