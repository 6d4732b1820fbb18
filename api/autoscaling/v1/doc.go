// Package v1 converts the HorizontalPodAutoscaler of autoscaling/v1 to and from v2, in which
// objects are stored.
//
// v1 knows one metric, the utilization of CPU. What else an object has is in annotations of the v1
// object, as in Kubernetes: other metrics, the metrics and conditions of the status, and the
// behavior. No v2 object has these annotations. The types are upstream's.
package v1
