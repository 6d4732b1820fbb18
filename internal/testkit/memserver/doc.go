// Package memserver is the API server without etcd and listeners: the registry, admission and
// endpoints of package apiserver over a store in memory.
//
// Nothing that a request waits for is outside of the process, so whole parts of the product can run against it inside a bubble of
// testing/synctest: their clocks stand still while they work, and a minute of waiting takes no time. What is stored can be
// taken out and put back, so that a test can begin at any state that another one went through.
//
// All callers are administrators. There is one store of objects for all kinds; its writes are in one order.
package memserver
