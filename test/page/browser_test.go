package page

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium with one page.
type browser struct {
	testing.TB
	to      io.Writer
	session string

	mu      sync.Mutex // guards all below
	next    int
	answers map[int]chan answer
	faults  []string // what the console and the policy complain about
	fetched []string // addresses of requests
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// message is an answer or an event of the DevTools protocol.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	answer
}

// patience limits how long the browser may take for one step, on a machine that is busy.
const patience = 60 * time.Second

// startBrowser starts Chromium, or skips the test.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed; Debian's package is chromium")
	}
	toRead, to, err1 := os.Pipe()
	from, fromWrite, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-extensions", "--disable-component-update", "--hide-scrollbars",
		"--window-size=1400,900", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	b := &browser{TB: t, to: to, answers: map[int]chan answer{}}
	go b.receive(bufio.NewReader(from))
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		if err := cmd.Wait(); err != nil {
			t.Log("Chromium ended:", err)
		}
		to.Close()
		from.Close()
	})
	b.attach()
	return b
}

// attach opens the page and listens to its faults and requests.
func (b *browser) attach() {
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

// receive hands out what Chromium writes. Messages end with a zero byte.
func (b *browser) receive(from *bufio.Reader) {
	for {
		data, err := from.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
			b.Errorf("Chromium wrote %q: %v", data, err)
			return
		}
		b.mu.Lock()
		if waiting, ok := b.answers[m.ID]; ok && m.ID != 0 {
			delete(b.answers, m.ID)
			waiting <- m.answer
		}
		b.note(&m)
		b.mu.Unlock()
	}
}

// note records events. The mutex must be held.
func (b *browser) note(m *message) {
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		b.faults = append(b.faults, string(m.Params))
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &sent); err == nil {
			b.fetched = append(b.fetched, sent.Request.URL)
		}
	}
}

// call calls a method of the protocol.
func (b *browser) call(method string, params, result any) {
	b.Helper()
	b.mu.Lock()
	b.next++
	id, waiting := b.next, make(chan answer, 1)
	b.answers[id] = waiting
	b.mu.Unlock()
	request := map[string]any{"id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	data, err := json.Marshal(request)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.Fatal(err)
	}
	select {
	case a := <-waiting:
		if a.Error != nil {
			b.Fatalf("%s: %s", method, a.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(a.Result, result); err != nil {
				b.Fatal(err)
			}
		}
	case <-time.After(patience):
		b.Fatalf("%s: no answer", method)
	}
}

// evaluate evaluates an expression in the page, and stores its value.
func (b *browser) evaluate(expression string, value any) {
	b.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.ExceptionDetails != nil {
		b.Fatalf("%s: %s", expression, out.ExceptionDetails.Exception.Description)
	}
	if value != nil {
		if err := json.Unmarshal(out.Result.Value, value); err != nil {
			b.Fatalf("%s: %v: %s", expression, err, out.Result.Value)
		}
	}
}

// text returns the text of the first element that a selector matches.
func (b *browser) text(selector string) string {
	b.Helper()
	var text string
	b.evaluate(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector), &text)
	return text
}

// await waits until an expression is true. The page looks at it after each frame.
func (b *browser) await(expression string) {
	b.Helper()
	var ok bool
	b.evaluate(fmt.Sprintf(`new Promise((done) => {
		const end = performance.now() + %d;
		const look = () => {
			if (%s) done(true);
			else if (performance.now() > end) done(false);
			else setTimeout(look, 20);
		};
		look();
	})`, (patience/2).Milliseconds(), expression), &ok)
	if !ok {
		b.Fatalf("%s did not become true; the page has: %s", expression, b.text("body"))
	}
}

// awaitPicture waits until the map shows the first picture.
func (b *browser) awaitPicture() {
	b.Helper()
	b.await(`performance.getEntriesByName("map-painted").some((painted) =>
		painted.startTime > (performance.getEntriesByName("first-picture")[0]?.startTime ?? Infinity))`)
}

// press presses and releases a key.
func (b *browser) press(key string, shift bool) {
	b.Helper()
	modifiers := 0
	if shift {
		modifiers = 8
	}
	event := map[string]any{"type": "keyDown", "key": key, "modifiers": modifiers}
	if len(key) == 1 {
		event["text"] = key
	}
	if key == "Enter" {
		event["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", event, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "modifiers": modifiers}, nil)
}

// click clicks at a point of the window.
func (b *browser) click(x, y float64) {
	b.Helper()
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent",
			map[string]any{"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
}

// prefer sets the colour scheme that the person prefers.
func (b *browser) prefer(scheme string) {
	b.Helper()
	features := []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
}

// screenshot writes what the window shows, if that is asked for.
func (b *browser) screenshot(name string) {
	b.Helper()
	if *screenshots == "" {
		return
	}
	var picture struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(*screenshots, name+".png"), data, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// checkQuiet reports what the console complains about, and requests to other hosts.
func (b *browser) checkQuiet(link string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		b.Errorf("the console says %s", fault)
	}
	if len(b.fetched) == 0 {
		b.Error("no request was seen")
	}
	for _, address := range b.fetched {
		if !strings.HasPrefix(address, link) {
			b.Errorf("the page asked %s for something", address)
		}
	}
}
