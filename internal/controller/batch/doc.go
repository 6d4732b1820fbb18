// Package batch makes many requests to the server, of one kind and for one owner, without crowding out others:
// in parallel up to a limit, and carefully where all of them may be refused for the same reason.
//
// It knows nothing of what is requested.
package batch
