package app

import (
	"io"

	"k8s.io/klog/v2"
)

// LogTo sends the log of all parts to w, away from what a person reads.
func LogTo(w io.Writer) {
	klog.LogToStderr(false)
	klog.SetOutput(w)
}
