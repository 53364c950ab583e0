package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A peer that answers something else is not timed. Answers are compared to the
// byte: ids, their order, ranks, every value of every row, totals and flags.

// errDiffers is the error of a peer whose answer is not the node's.
var errDiffers = errors.New("another answer than the node's")

// comparisons is how many questions of a kind are compared.
const comparisons = 60

var client = http.Client{Timeout: time.Minute}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// ask asks once. A node that says to come again is asked again.
func ask(address, path, key string) ([]byte, error) {
	for end := time.Now().Add(childTimeout); ; time.Sleep(50 * time.Millisecond) {
		status, body, err := askOnce(address, path, key)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			return body, nil
		case strings.TrimSpace(string(body)) == errCannot.Error():
			return nil, errCannot
		case status != http.StatusServiceUnavailable || time.Now().After(end):
			return nil, fmt.Errorf("%s was answered %d: %.200s", path, status, body)
		}
	}
}

func askOnce(address, path, key string) (int, []byte, error) {
	q, err := http.NewRequest("GET", addressMark+address+path, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot ask %s: %w", path, err)
	}
	if key != "" {
		q.Header.Set("KC-APIKey", key)
	}
	r, err := client.Do(q)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot ask %s: %w", path, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	return r.StatusCode, body, err
}

// compare asks both sides the same and returns how often they agreed.
func (q *question) compare(s *site, node, key, front string) (equal int, err error) {
	r := rand.New(rand.NewPCG(1, uint64(q.row)))
	for n := range uint64(comparisons) {
		query := string(q.ask(s, nil, comparedFrom+n, r))
		theirs, err := ask(front, q.peerPath()+query, "")
		if err != nil {
			return equal, err
		}
		ours, err := ask(node, listPath+query, key)
		if err != nil {
			return equal, err
		}
		if err := same(ours, theirs); err != nil {
			return equal, fmt.Errorf("%w: %s%s: %w", errDiffers, listPath, query, err)
		}
		equal++
	}
	return equal, nil
}

// same tells what differs: first which rows there are, then anything.
func same(ours, theirs []byte) error {
	if bytes.Equal(ours, theirs) {
		return nil
	}
	a, b := idsOf(ours), idsOf(theirs)
	if !slices.Equal(a, b) {
		return fmt.Errorf("the node has the rows %.300s; the peer has %.300s", fmt.Sprint(a), fmt.Sprint(b))
	}
	at := 0
	for at < min(len(ours), len(theirs)) && ours[at] == theirs[at] {
		at++
	}
	from := max(0, at-40)
	return fmt.Errorf("the rows are the same, but byte %d: the node has %.80q; the peer has %.80q",
		at, ours[from:], theirs[from:])
}

// idsOf returns the rows of an answer as chain/id.
func idsOf(body []byte) (ids []string) {
	var l struct {
		Positions []struct {
			ChainID    int64
			PositionID string
		}
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return []string{err.Error()}
	}
	for _, p := range l.Positions {
		ids = append(ids, fmt.Sprintf("%d/%s", p.ChainID, p.PositionID))
	}
	return ids
}
