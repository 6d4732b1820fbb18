package app

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"
)

// logFormat is the format of the log of a process. The zero value is text.
type logFormat string

// The formats of Kubernetes' components.
const (
	textLog logFormat = "text"
	jsonLog logFormat = "json"
)

// addFlag adds the flag of the format.
func (f *logFormat) addFlag(flags *pflag.FlagSet) {
	*f = textLog
	flags.Var(f, "logging-format", "format of the log: text or json")
}

// String implements pflag.Value.
func (f *logFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *logFormat) Type() string { return "format" }

// Set implements pflag.Value.
func (f *logFormat) Set(text string) error {
	switch format := logFormat(text); format {
	case textLog, jsonLog:
		*f = format
		return nil
	}
	return fmt.Errorf("must be text or json, is %q", text)
}

// logTo sends the log of all parts to w, and nowhere else.
func (f logFormat) logTo(w io.Writer) {
	if f != jsonLog {
		LogTo(w)
		return
	}
	logger, _ := logsjson.NewJSONLogger(0, zapcore.Lock(logsjson.AddNopSync(w)), nil, nil)
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
}
