// Package crash stops components of the product at each of their writes, and checks the
// consequences (R50).
//
// A file in testdata is a scenario: manifests are applied, objects are changed and deleted, a
// device is tainted, and after each act the test waits until all components are idle; the output is
// the state at that time. A scenario runs once without a failure. Then it runs again, starting from
// the state left by acts marked "given", for each write by the controllers, each by the scheduler,
// and each by any component: at that write the controllers stop, or the scheduler, or all
// components and the nodes, or the API server.
//
// The write is lost, or it succeeds and its response is lost. Caches lag by different times. New
// instances start without memory: immediately, later, or only when the scenario has continued. If
// all components or the API server stopped, they may stop again during recovery. Or no component
// stops, and only the response is lost.
//
// While the API server is stopped, its clients get connection errors; their watches and all pending
// responses are closed. It restarts with all stored objects, and either can continue watches or
// cannot, so that clients must list.
//
// The API server may also end within a placement, the request that binds a gang: after any number
// of its writes, which create claims and bind pods. When it is back, every gang and every tree of
// groups is bound or waits as a whole, before any other component acts.
//
// At no time is a device allocated to two claims, has an entry two claims, or a bound pod a claim
// that belongs to another. No pod is created in excess of the replicas, except as a replacement for
// one whose creation got no response. No pod is evicted except from a tainted device, and none is
// evicted twice. When all components are idle, the state equals that without the failure.
//
// Not included are: the memory of the API server itself, such as pending writes of claims
// (internal/apiserver/registry), because the same instance continues; the leases of controllers and
// scheduler; and crashes of the machines that run the pods.
//
// All of this runs in a bubble of testing/synctest, with a server in memory: the components are
// real, their time is not. By default one kind of failure occurs at each write, in rotation; -all
// runs all of them.
package crash
