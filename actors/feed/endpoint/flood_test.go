package endpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// flood is a provider that answers every request with about as many bytes: a beginning, the
// same again and again, and an end.
type flood struct {
	begin, again, end string
	size              int
	sized             bool // says before how many they are
}

func (p *flood) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if p.sized {
		w.Header().Set("Content-Length", strconv.Itoa(p.size))
	}
	_, err := io.WriteString(w, p.begin)
	part := strings.Repeat(p.again, 64<<10/len(p.again))
	for left := p.size - len(p.begin); left > len(part) && err == nil; left -= len(part) {
		_, err = io.WriteString(w, part)
	}
	_, _ = io.WriteString(w, p.end)
}

// peakOf returns the most memory that live and dead objects took beside what there was before.
func peakOf(do func()) uint64 {
	read := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before, peak := read(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for ticker := time.NewTicker(time.Millisecond); ; {
			peak = max(peak, read())
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
			}
		}
	}()

	do()
	close(stop)
	<-stopped
	return peak - min(before, peak)
}

// asked asks a provider for many answers at once and returns the error of each, and the most
// memory that was taken. Nothing of the room is taken afterwards.
func (p *flood) asked(t *testing.T, requests int) (errs []error, peak uint64) {
	t.Helper()
	server := httptest.NewServer(p)
	defer server.Close()
	e, err := New(Config{Name: "test", URL: server.URL, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.deadline.now = time.Minute

	errs = make([]error, requests)
	peak = peakOf(func() {
		var work sync.WaitGroup
		for i := range errs {
			work.Go(func() {
				var got *[]struct {
					Data json.RawMessage `json:"data"`
					More [12]uint64      `json:"more"`
				}
				calls := []Call{{Method: "echo", Result: &got}}
				if errs[i] = e.sendOnce(t.Context(), calls); errs[i] == nil {
					errs[i] = calls[0].Error
				}
			})
		}
		work.Wait()
	})
	if own, all := e.room.taken.Load(), shared.taken.Load(); own != 0 || all != 0 {
		t.Errorf("%d bytes of one endpoint's room stay taken, %d of all", own, all)
	}
	return errs, peak
}

// However much a provider answers to however many requests at once, what is kept of its
// answers stays within the room for them, and the error says so.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("sends gigabytes")
	}
	f := func(what string, requests int, p flood, want string) {
		t.Helper()
		p.size = cmp.Or(p.size, 128<<20)
		errs, peak := p.asked(t, requests)
		// What is dead is not collected at once: it may be twice as much again.
		if most := uint64(3 * endpointRoom); peak > most {
			t.Errorf("%s: %d MB are taken; want at most %d", what, peak>>20, most>>20)
		}
		for _, err := range errs {
			if KindOf(err) != Oversized || !strings.Contains(err.Error(), want) {
				t.Fatalf("%s: %v; want %q", what, err, want)
			}
		}
	}

	more := "bytes more; answers of one endpoint at once cannot exceed 134217728, and have "
	f("of a known size", 96, flood{begin: `{"id":0,"result":"`, again: "7", sized: true},
		"answer has 134217728 bytes; cannot exceed 67108864")
	f("a text", 1, flood{begin: `{"id":0,"result":"`, again: "7"},
		"a value of the answer is larger than 33554432 bytes")
	f("texts", 12, flood{begin: `{"id":0,"result":"`, again: "7"}, "")
	f("numbers", 12, flood{begin: `{"id":0,"result":`, again: "7"}, "")
	f("names", 12, flood{begin: `{"`, again: "a"}, "")
	f("errors", 12, flood{begin: `{"id":0,"error":"`, again: "7"}, "")
	f("lists", 2, flood{begin: `{"id":0,"result":[`, again: "{},", end: "{}]}", size: 24 << 20}, more)
	f("nulls", 2, flood{begin: `{"id":0,"result":[`, again: "null,", end: "{}]}", size: 24 << 20}, more)
	f("held", 1, flood{begin: `{"result":[`, again: "{},", end: "{}]}", size: 24 << 20}, more)
	f("brackets", 12, flood{begin: `{"id":0,"result":`, again: "["},
		"the answer has more than 10000 brackets within one another")
	f("brackets that are skipped", 12, flood{begin: `{"id":0,"more":`, again: "["},
		"the answer has more than 10000 brackets within one another")
	for _, again := range []string{`7`, `\"`, `\\`} {
		f("what is skipped", 3, flood{begin: `{"id":0,"more":"`, again: again}, errOversized.Error())
	}
	f("lists that are skipped", 3, flood{begin: `{"id":0,"more":[`, again: `{"data":"0x77"},`},
		errOversized.Error())
	f("white space", 3, flood{begin: `{"id":0,`, again: " "}, errOversized.Error())
}

// The receipts of a full block are read, and several at once.
func TestLargeAnswers(t *testing.T) {
	data := `{"data":"` + strings.Repeat("7", 1000) + `"},`
	for size, requests := range map[int]int{2 << 20: 20, 24 << 20: 2} {
		p := flood{begin: `{"id":0,"result":[`, again: data, end: "{}]}", size: size}
		errs, _ := p.asked(t, requests)
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%d answers of %d bytes: %v", requests, size, err)
		}
	}
}

// One endpoint that takes all of its room leaves as much for the others, and none takes more
// than there is.
func TestRoom(t *testing.T) {
	all := room{name: "all", most: 100}
	one, two, three := room{name: "one", most: 50, of: &all}, room{most: 50, of: &all}, room{most: 50, of: &all}
	f := func(m *room, n, taken int64, want string) {
		t.Helper()
		err := m.take(n)
		if fmt.Sprint(err) != want || all.taken.Load() != taken {
			t.Errorf("%d bytes: %v, %d are taken; want %s, %d", n, err, all.taken.Load(), want, taken)
		}
	}

	f(&one, 50, 50, "<nil>")
	f(&one, 1, 50, "answer needs 1 bytes more; answers of one at once cannot exceed 50, and have 50")
	f(&two, 49, 99, "<nil>")
	f(&three, 2, 99, "answer needs 2 bytes more; answers of all at once cannot exceed 100, and have 99")
	f(&three, 1, 100, "<nil>")
	one.giveBack(50)
	f(&three, 49, 99, "<nil>")
	if n := [...]int64{one.taken.Load(), two.taken.Load(), three.taken.Load()}; n != [...]int64{0, 49, 50} {
		t.Errorf("%d are taken", n)
	}
}
