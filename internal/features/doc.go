// Package features defines the feature gates of allot.
//
// A [Set] is a value that is passed as a parameter; there is no global one. Its zero value has all
// features enabled that are on by default. Disabling a feature disables the features that depend on
// it.
//
// The effect of a disabled feature is implemented where the feature is.
package features
