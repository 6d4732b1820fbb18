package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// LogTo sends the log of all parts to w, so that it does not mix with the terminal output.
func LogTo(w io.Writer) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"stderrthreshold": "FATAL", // otherwise errors are written to stderr as well
		// otherwise an error is written as a warning and as an information, too
		"one_output": "true",
	} {
		if err := flags.Set(name, value); err != nil {
			panic(err) // klog does not have the flag any more
		}
	}
	klog.LogToStderr(false)
	klog.SetOutput(w)
}

// maxLog is the size at which the log is emptied, in bytes.
const maxLog = 32 << 20

// openLog sends the log of all parts to a file in the data directory.
func openLog(dir string, format logFormat) (io.Closer, error) {
	name := filepath.Join(dir, "allot.log")
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Lstat(name); err == nil && info.Size() > maxLog {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, mode|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("open the log: %s is a symbolic link, and is not followed: remove it", name)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	format.logTo(f)
	return f, nil
}
