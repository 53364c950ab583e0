package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Config says which node to check, and how long to go on.
type Config struct {
	URL, Key string
	// Sample is how many positions of a chain are looked at one by one, spread
	// evenly over all; 0 is every one. Lists are always walked whole.
	Sample int
	// Requests bounds how many requests are sent; 0 is 200,000, which is more
	// than the simulated market needs ten times over.
	Requests int
	// TotalCap is limits.total-cap of the node, where its counts stop; 0 is 25,000.
	TotalCap int
	// Tries is how often a question is asked until its answer is of the
	// generation of all rows; 0 is 20.
	Tries int
	// Timeout is how long one answer may take; 0 is 30 s.
	Timeout time.Duration
	// Progress, when not nil, is told what is checked next.
	Progress func(string)
}

const (
	defaultRequests = 200_000
	defaultTotalCap = 25_000
	defaultTries    = 20
	defaultTimeout  = 30 * time.Second

	// An answer that says 429 or 503 is asked for again after Retry-After, but
	// not sooner than leastPause and not later than mostPause, so many times.
	busyTries  = 20
	leastPause = 200 * time.Millisecond
	mostPause  = 30 * time.Second

	// mostBytes bounds a body: the longest history of the API is some 60 MB.
	mostBytes = 256 << 20
)

// Unfinished is the error of a check that could not be done to its end, which
// says nothing about the node's answers.
type Unfinished struct{ Cause error }

func (e *Unfinished) Error() string { return "cannot finish the check: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *Unfinished) Unwrap() error { return e.Cause }

// ExitCode tells the command line that nothing was found out.
func (e *Unfinished) ExitCode() int { return 2 }

func unfinished(format string, args ...any) error {
	return &Unfinished{fmt.Errorf(format, args...)}
}

// answer is one body and what its headers say.
type answer struct {
	path       string
	status     int
	generation string
	body       any
}

// object returns the body as one; empty when it is none.
func (a *answer) object() map[string]any {
	m, _ := a.body.(map[string]any)
	return m
}

// client asks one node, one question after the other.
type client struct {
	Config
	http   http.Client
	report *Report
}

func newClient(cfg Config, report *Report) *client {
	c := &client{Config: cfg, report: report}
	c.URL = strings.TrimRight(c.URL, "/")

	if c.Requests == 0 {
		c.Requests = defaultRequests
	}
	if c.TotalCap == 0 {
		c.TotalCap = defaultTotalCap
	}
	if c.Tries == 0 {
		c.Tries = defaultTries
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}

	c.http.Timeout = c.Timeout
	return c
}

func (c *client) progress(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// get asks until the node has an answer that is neither 429 nor 503.
func (c *client) get(ctx context.Context, path string) (*answer, error) {
	var a *answer
	for try := range busyTries {
		var pause time.Duration
		var err error
		a, pause, err = c.askOnce(ctx, path)
		if err != nil || pause == 0 {
			return a, err
		}

		if try == 0 {
			c.progress("%s; asking again", a.refusal())
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, unfinished("%w; %s", context.Cause(ctx), a.refusal())
		}
	}
	return nil, unfinished("%s, %d times", a.refusal(), busyTries)
}

// refusal says what a 429 or 503 is about.
func (a *answer) refusal() string {
	why := fmt.Sprintf("%s is answered %d", a.path, a.status)
	if message := text(a.object(), "error"); message != "" {
		why += ": " + message
	}
	return why
}

// askOnce asks one time. A pause above 0 says to ask again after it.
func (c *client) askOnce(ctx context.Context, path string) (*answer, time.Duration, error) {
	if c.report.Requests >= c.Requests {
		return nil, 0, unfinished("%d requests are not enough", c.Requests)
	}
	c.report.Requests++
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, 0, &Unfinished{err}
	}
	request.Header.Set("KC-APIKey", c.Key)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, &Unfinished{err}
	}
	defer response.Body.Close()

	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		busy := &answer{path: path, status: response.StatusCode}
		// A proxy may answer something else than JSON.
		_ = json.NewDecoder(io.LimitReader(response.Body, mostBytes)).Decode(&busy.body)
		io.Copy(io.Discard, io.LimitReader(response.Body, mostBytes))
		return busy, pauseOf(response.Header), nil
	case http.StatusUnauthorized, http.StatusForbidden:
		if c.Key == "" {
			return nil, 0, unfinished("%s is answered %s: no key was given; give one with --key or "+
				"TIDEMARK_CHECK_KEY", path, response.Status)
		}
		return nil, 0, unfinished("%s is answered %s: is the key right?", path, response.Status)
	}
	a := &answer{path: path, status: response.StatusCode, generation: response.Header.Get("X-Generation")}
	if err := json.NewDecoder(io.LimitReader(response.Body, mostBytes)).Decode(&a.body); err != nil {
		return nil, 0, unfinished("cannot read the answer to %s: %w", path, err)
	}

	// The rest of the body has to be read, or the connection is not used again.
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return nil, 0, unfinished("cannot read the answer to %s: %w", path, err)
	}
	return a, 0, nil
}

// pauseOf is how long the node asks to wait.
func pauseOf(h http.Header) time.Duration {
	seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 32)
	if err != nil {
		return leastPause
	}
	return min(max(time.Duration(seconds)*time.Second, leastPause), mostPause)
}
