package app

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

// LogTo sends the log of all parts to w, away from what a person reads.
func LogTo(w io.Writer) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	// Errors would go to stderr as well.
	if err := flags.Set("stderrthreshold", "FATAL"); err != nil {
		panic(err) // the flag is not klog's any more
	}
	klog.LogToStderr(false)
	klog.SetOutput(w)
}

// maxLog is how large the log may be before it is begun anew, in bytes.
const maxLog = 32 << 20

// openLog has all parts log to a file in the data directory.
func openLog(dir string) (io.Closer, error) {
	name := filepath.Join(dir, "allot.log")
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(name); err == nil && info.Size() > maxLog {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, mode, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	LogTo(f)
	return f, nil
}
