// Package tokencleaner deletes the secrets of bootstrap tokens when they expire.
//
// Expiry decides when that is. A token without an expiration stays, and so does one whose expiration
// cannot be read: it is not valid, and a person may mend it.
package tokencleaner
