// Package plugins is the kubelet's side of the plugin protocol for DRA drivers, for simulated
// nodes: it lets real drivers register, and calls them to prepare and unprepare ResourceClaims.
//
// Each node has a folder with the layout of /var/lib/kubelet. A driver creates a registration
// socket in plugins_registry, and the socket of its service where it likes, usually in
// plugins/DRIVER:
//
//	DIR/NODE/plugins_registry/    registration sockets (pluginregistration v1)
//	DIR/NODE/plugins/             for the sockets and files of the drivers
//	DIR/NODE/prepared-claims.json what this package must remember across restarts
//
// Of the versions that a driver serves, the first that is known here is used: DRA v1 or v1beta1,
// and health v1 or v1alpha1.
//
// Invariants:
//   - A claim is recorded on disk before a driver is called for it, and its record is deleted only
//     after all its drivers have unprepared it. A process that is killed therefore forgets nothing
//     that a driver may hold.
//   - A claim is recorded only if all its drivers are registered. A pod that waits for a driver
//     that does not exist can be deleted.
//   - No two calls for one claim on a node run at the same time, and a claim that is prepared is
//     not prepared again by this process.
//   - Every call ends after CallTimeout.
//
// Drivers of the fleet are simulated: their devices need no preparation. The first time that a
// plugin registers on a node under the name of such a driver, the driver becomes real there, which
// is recorded, too.
//
// This package does not write to the API. Options has functions for what follows from a
// registration.
package plugins
