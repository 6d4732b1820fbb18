// Package resourcequota keeps the statuses of ResourceQuotas: what is allowed, and what the objects
// of the namespace use. The API server charges new objects to the status; the controller sets it at
// first and when the spec changes, and counts again when objects are deleted, when pods end, and
// from time to time.
package resourcequota
