// Package quota measures what objects use of a ResourceQuota: the requests and limits of pods that
// have not terminated, the maximum number of devices of each DeviceClass for ResourceClaims, the
// storage of PersistentVolumeClaims, the node ports and load balancers of Services, and the count
// of every kind. Usage is computed as in Kubernetes 1.37, so that a quota means the same on both.
//
// The API server charges quotas with it, and the controller computes the status of quotas with it.
// The package reads no objects itself: callers pass functions that list them.
package quota
