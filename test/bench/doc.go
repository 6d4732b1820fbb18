// Command bench measures the rate at which created pods are bound, compared with the rate at which
// a trivial client creates and binds the same number of plain pods on the same server in the same
// run (machines differ, ratios are comparable).
//
//	go run ./test/bench [-workload a,b,c,d,e] [-runs 1]
//	go run ./test/bench -collections 50000
//
// Workloads:
//
//	a  100 groups × 50 pods that share one generated claim a group, on 50 nodes; the devices are network-attached
//	b  2,500 pods with a generated claim each, on 500 nodes with 10 devices
//	c  9 gangs × 1,000 pods without claims, on 5,000 nodes
//	d  1,000 gangs × 3 pods without claims, on 5,000 nodes
//	e  1 gang × 9,216 pods that share one network-attached device, four on each of 2,304 nodes (KEP-5194's training job)
//
// With -collections N it measures instead how long collections take (P26): N pods that have no
// place are created, wait with a condition that says so, and are deleted by one request; then the
// same with a generated claim for each pod. A request that fails ends the command.
//
// Pods are created by 30 workers through HTTPS, like a user's controller. The rate is pods ÷ (first
// create → last bound). Nodes are idle: pods do not run, so that the figures are those of the path
// to the node alone. Writes are requests: one that binds a gang counts once. The CPU time is that
// of the whole process from the first create to the last bound, the clients of the benchmark
// included.
package main
