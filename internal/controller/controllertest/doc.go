// Package controllertest runs scenario files against a controller: a server, caches that are behind
// it, and the controller between the two. All objects are in the namespace "default". The syntax is
// that of internal/testkit/line. These verbs are shared; a controller adds at most five of its own,
// besides its kinds, and names them where its scenarios are run:
//
//	objects               the input lines are objects
//	pod NAME [owner=NAME|none] [app=] [node=] [phase=] [ready[=AGE]] [unready] [age=] [deleting]
//	    [cost=] [restarts=] [sidecar-restarts=]   creates or changes a pod
//	delete KIND=NAME…     the server no longer has the object
//	reconcile [NAME]      reconciles once, and prints requests, events and the queue
//	roll [not=POD,…]      reconciles, and runs pods, until nothing happens; prints the last status
//	run [not=POD,…]       scheduler and kubelets: pods start and are ready, but for some; pods that
//	                      are being deleted end
//	sync [KIND…]          the caches, or some of them, see the server
//	refuse VERB KIND with=TEXT|terminating   the server refuses such requests, until "allow VERB KIND"
//	lose [VERB…]          the responses of such requests are lost: those for pods, or what the controller
//	                      creates in their place
//	advance DURATION      time passes
//	list KIND             prints the server's objects
//
// A verb that changes objects, and reconcile, are followed by sync, except with the flag "lag".
package controllertest
