// Package batch makes many requests of one kind for one owner without delaying others: with limited
// concurrency, and with a slow start where all of them may fail for the same reason.
package batch
