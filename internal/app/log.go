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

// LogTo sends the log of all parts to w, away from what a person reads.
func LogTo(w io.Writer) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"stderrthreshold": "FATAL", // errors would go to stderr as well
		"one_output":      "true",  // an error would be written as a warning and an information, too
	} {
		if err := flags.Set(name, value); err != nil {
			panic(err) // the flag is not klog's any more
		}
	}
	klog.LogToStderr(false)
	klog.SetOutput(w)
}

// maxLog is how large the log may be before it is emptied, in bytes.
const maxLog = 32 << 20

// openLog has all parts log to a file in the data directory.
func openLog(dir string) (io.Closer, error) {
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
	LogTo(f)
	return f, nil
}
