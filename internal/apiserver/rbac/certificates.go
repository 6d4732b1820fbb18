package rbac

import (
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// JoiningGroup is the group of bootstrap tokens with which a machine may join as a node.
	JoiningGroup = "system:bootstrappers:allot:default-node-token"

	// KubeletClient is the user as which the API server reaches kubelets.
	KubeletClient = "kube-apiserver-kubelet-client"

	kubeletAdmin    = "system:kubelet-api-admin"
	signingRequests = "certificatesigningrequests"
	approvedNodes   = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
	renewedNodes    = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
	bootstrapper    = "system:node-bootstrapper"
)

// certificateRoles returns the roles by which certificates are requested and approved, and kubelets are
// reached.
func certificateRoles() []rbacv1.ClusterRole {
	approver := func(name, signer string) rbacv1.ClusterRole {
		return role("system:certificates.k8s.io:"+name, allowNamed("approve", groupCertificates, "signers", signer))
	}
	return []rbacv1.ClusterRole{
		role(bootstrapper, allow("create "+read, groupCertificates, signingRequests)),
		role(approvedNodes, allow("create", groupCertificates, signingRequests+"/nodeclient")),
		role(renewedNodes, allow("create", groupCertificates, signingRequests+"/selfnodeclient")),
		role(kubeletAdmin,
			allow(read+" proxy", "", "nodes"),
			allow("*", "", "nodes/proxy nodes/metrics nodes/stats nodes/log nodes/pods nodes/healthz nodes/configz"),
		),
		approver("legacy-unknown-approver", certificatesv1beta1.LegacyUnknownSignerName),
		approver("kubelet-serving-approver", certificatesv1.KubeletServingSignerName),
		approver("kube-apiserver-client-approver", certificatesv1.KubeAPIServerClientSignerName),
		approver("kube-apiserver-client-kubelet-approver", certificatesv1.KubeAPIServerClientKubeletSignerName),
	}
}

// joinBindings returns the bindings by which a machine with a token of the group JoiningGroup
// becomes a node, nodes renew their certificates, and the API server reaches them.
func joinBindings() []rbacv1.ClusterRoleBinding {
	kubelets := clusterRoleBinding(kubeletAdmin, userSubjects(KubeletClient)...)
	kubelets.Name = "allot:apiserver-kubelet-client"
	named := func(name, role, group string) rbacv1.ClusterRoleBinding {
		b := clusterRoleBinding(role, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group})
		b.Name = name
		return b
	}
	return []rbacv1.ClusterRoleBinding{
		kubelets,
		named("allot:kubelet-bootstrap", bootstrapper, JoiningGroup),
		named("allot:node-autoapprove-bootstrap", approvedNodes, JoiningGroup),
		named("allot:node-autoapprove-certificate-rotation", renewedNodes, user.NodesGroup),
	}
}

// certificateControllers returns the controllers that approve, sign and delete requests, and delete
// expired bootstrap tokens.
func certificateControllers() []part {
	signed := []string{
		certificatesv1beta1.LegacyUnknownSignerName, certificatesv1.KubeAPIServerClientSignerName,
		certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName,
	}
	return []part{
		controller("certificate-controller",
			allow(read+" delete", groupCertificates, signingRequests),
			allow("update", groupCertificates, signingRequests+"/status "+signingRequests+"/approval"),
			allowNamed("approve", groupCertificates, "signers", certificatesv1.KubeAPIServerClientKubeletSignerName),
			allowNamed("sign", groupCertificates, "signers", strings.Join(signed, " ")),
			allow("create", groupAuthorization, "subjectaccessreviews"),
		),
		controller("token-cleaner", allow(read+" delete", "", "secrets")),
	}
}
