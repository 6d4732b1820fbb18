// Package quota measures what objects use of a ResourceQuota: pods their requests and limits while they may run,
// ResourceClaims the most devices of each DeviceClass that they can get, PersistentVolumeClaims storage, Services node
// ports and load balancers, and every object one of its count. Usage is what Kubernetes 1.37 counts, so that a quota means
// the same on both.
//
// The API server charges quotas with it, and the controller counts with it what there is. It never reads objects itself:
// who counts says how to list.
package quota
