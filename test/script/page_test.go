package script

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// dashboardLink is the line with the link to a dashboard.
var dashboardLink = regexp.MustCompile(`(?m)^dashboard: (http://127\.0\.0\.1:\d+/[A-Z2-7]{26}/)$`)

// page reads a path of the dashboard whose link is in a file, until a line of it matches:
//
//	page 30s 'regexp' file path
func page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: page timeout regexp file path")
	}
	patience, err := time.ParseDuration(args[0])
	ts.Check(err)
	want, err := regexp.Compile(args[1])
	ts.Check(err)
	said, err := os.ReadFile(ts.MkAbs(args[2]))
	ts.Check(err)
	link := dashboardLink.FindSubmatch(said)
	if link == nil {
		ts.Fatalf("%s has no link to a dashboard: %s", args[2], said)
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(link[1])+args[3], nil)
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	body := bufio.NewReader(response.Body)
	var read strings.Builder
	for err == nil {
		var line string
		line, err = body.ReadString('\n')
		read.WriteString(line)
		if want.MatchString(line) {
			return
		}
	}
	ts.Fatalf("no line of %s matches %q: %v\n%s", args[3], args[1], err, read.String())
}
