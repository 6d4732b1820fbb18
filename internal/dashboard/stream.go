package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/picture"
)

var errNotRead = errors.New("the cluster is being read")

// aliveEvery is the time between two signs of life of a stream in which nothing happens.
const aliveEvery = 15 * time.Second

// stream sends server-sent events: a "picture" with everything, then a "change" for each
// difference, and a "status" when the Picture is not up to date, or is again.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	s.follow()
	w.Header().Set("Content-Type", "text/event-stream")
	events := eventWriter{w, http.NewResponseController(w)}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	shown := Scene{Picture: &picture.Picture{}}
	for {
		// A slow client gets the difference to the newest Picture, whatever it has missed.
		now, changed := s.view.Now()
		if err := events.writeScene(&shown, &now); err != nil {
			return // the client has gone
		}
		shown = now
		select {
		case <-r.Context().Done():
			return
		case <-alive.C:
			if err := events.comment("alive"); err != nil {
				return
			}
		case <-changed:
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	w        io.Writer
	response *http.ResponseController
}

// writeScene writes what is different between two scenes.
func (e *eventWriter) writeScene(shown, now *Scene) error {
	if now.Picture != shown.Picture && !now.Picture.Taken.IsZero() {
		name := "change"
		if shown.Picture.Taken.IsZero() {
			name = "picture"
		}
		if err := e.write(name, now.Picture.Since(shown.Picture)); err != nil {
			return err
		}
	}
	if now.Problem != shown.Problem {
		return e.write("status", map[string]string{"problem": now.Problem})
	}
	return nil
}

func (e *eventWriter) write(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, data); err != nil {
		return err
	}
	return e.response.Flush()
}

func (e *eventWriter) comment(text string) error {
	if _, err := fmt.Fprintf(e.w, ": %s\n\n", text); err != nil {
		return err
	}
	return e.response.Flush()
}

// explain returns the Report about the object of the parameters kind, namespace and name.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	report, err := s.view.Explain(query.Get("kind"), model.Key{Namespace: query.Get("namespace"), Name: query.Get("name")})
	var missing *explain.NotFoundError
	status := http.StatusOK
	var answer any = report
	switch {
	case errors.As(err, &missing):
		status, answer = http.StatusNotFound, map[string]string{"problem": err.Error()}
	case errors.Is(err, errNotRead):
		status, answer = http.StatusServiceUnavailable, map[string]string{"problem": err.Error()}
	case err != nil:
		status, answer = http.StatusBadRequest, map[string]string{"problem": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return // the client has gone
	}
}
