package dynamicadmission

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Excluded returns the resources for which no webhook is called and no policy evaluated: questions
// about users and their rights. A webhook that needs an answer to one would wait for itself.
func Excluded() []schema.GroupResource {
	return []schema.GroupResource{
		{Group: authenticationv1.GroupName, Resource: "selfsubjectreviews"},
		{Group: authenticationv1.GroupName, Resource: "tokenreviews"},
		{Group: authorizationv1.GroupName, Resource: "localsubjectaccessreviews"},
		{Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews"},
		{Group: authorizationv1.GroupName, Resource: "selfsubjectrulesreviews"},
		{Group: authorizationv1.GroupName, Resource: "subjectaccessreviews"},
	}
}
