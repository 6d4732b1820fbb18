// Package ttl deletes finished Jobs and their dependents when ttlSecondsAfterFinished has passed.
//
// Expiry decides when that is. The controller reads the Job from the API before it deletes, because
// the time may have changed. A Job is deleted once; its dependents are left to the garbage
// collector.
package ttl
