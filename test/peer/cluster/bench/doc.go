// Command bench measures allot and Kubernetes 1.37.2 with the same workloads, side by side: those of
// Kubernetes' own benchmark of its scheduler (test/integration/scheduler_perf), and a training job of
// 9,216 pods (KEP-5194).
//
//	go run ./bench [-workload NAME,…] [-runs 3] [-side allot,kubernetes] [-scale 1] [-timeout 5m]
//	go run ./bench -list
//
// For each measurement a new control plane is started, the sides in turns: `allot up --nodes 0` as
// one process, or etcd, kube-apiserver, kube-controller-manager and kube-scheduler as four. Both sync
// to disk. This command creates everything else on both sides in the same way, through HTTPS as
// protobuf, by 30 workers: nodes, slices, groups, and the pods that are measured. No node runs pods.
//
// What is reported for each side:
//
//   - pods/s: pods ÷ (first create → last pod that a watch shows on a node)
//   - p50, p99: from the create of a pod until the watch shows it on a node
//   - CPU ms/pod: CPU time of the processes of the control plane, from the first create until they
//     are quiet again, ÷ pods
//   - writes/pod: requests that change something and succeed, as the API server counts them, ÷ pods;
//     the create of the pod is one of them
//   - peak MB: the sum of the peak memory of the processes
//
// The last table has the ratio of the sides for each workload: the median, and the least and the most
// of the runs. Times depend on what else the machine does, and CPU time much less; "own" is the
// part of the machine's CPU time that the measurement had while it ran, and below 0.9 the times mean
// little.
package main
