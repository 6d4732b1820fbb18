// Package page tests the page of allot dashboard in headless Chromium, as a person uses it: with the
// pointer, with the keyboard, in light and dark, and on a cluster of 10,000 nodes.
//
// The tests are skipped where no Chromium is found. They speak the DevTools protocol over a pipe, so
// that no other process can connect to the browser. With -screenshots DIR, they write what they see.
package page
