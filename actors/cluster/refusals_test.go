package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster/natstest"
)

// text is a log that several goroutines write.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(line)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Passwords and tokens in addresses are in no error, since errors are logged.
func TestAddressesWithoutSecrets(t *testing.T) {
	_, err := Open(t.Context(), Config{
		Servers: []string{"nats://user:s3cret@127.0.0.1:1", "nats://s3crettoken@127.0.0.1:1"}, Log: slog.Default(),
	})
	const want = "cannot reach the NATS servers nats://127.0.0.1:1, nats://127.0.0.1:1: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v; want %s", err, want)
	}
	if got := describeAddresses("nats://user:s3cret@%zz"); got != "number 1" {
		t.Errorf("an address that cannot be read is shown as %s", got)
	}
}

// The files that a node is given are used, and those that are not there refuse its start. One
// that is not kept safely says so.
func TestConnects(t *testing.T) {
	s := newServers(t, 1, false)
	missing := filepath.Join(t.TempDir(), "missing")
	f := func(what string, change func(*Config), fits bool) {
		t.Helper()
		log := &text{}
		config := s.config("a")
		config.Log = slog.New(slog.NewTextHandler(log, nil))
		change(&config)
		c, err := Open(t.Context(), config)
		if (err == nil) != fits || err != nil && !errors.Is(err, os.ErrNotExist) ||
			err != nil && !strings.Contains(err.Error(), missing+":") {
			t.Errorf("%s: %v", what, err)
		}
		if warned := strings.Contains(log.String(), "--insecure-cluster: a cut may be lost"); warned != fits {
			t.Errorf("%s: the log has %s", what, log)
		}
		if err != nil {
			return
		}
		if c.Close(); c.ctx.Err() == nil || !c.nc.IsClosed() {
			t.Error("a node that is closed has a connection")
		}
		if strings.Contains(log.String(), "is lost") {
			t.Errorf("that it is closed is a fault: %s", log)
		}
	}

	f("nothing", func(*Config) {}, true)
	f("credentials", func(c *Config) { c.Credentials = missing }, false)
	f("a certificate of servers", func(c *Config) { c.TLSCa = missing }, false)
	f("a certificate", func(c *Config) { c.TLSCert, c.TLSKey = missing, missing+".key" }, false)

	log, config := &text{}, s.config("b")
	config.Log = slog.New(slog.NewTextHandler(log, nil))
	c, err := OpenLater(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if !strings.Contains(log.String(), "--insecure-cluster") || c.Joined() == nil {
		t.Errorf("a node that joins later has joined: %t, and says %s", c.Joined() == nil, log)
	}
}

// unheard are servers whose answers to some messages are lost, and perhaps the messages too.
type unheard struct {
	jetstream.JetStream
	answers, messages int
}

func (u *unheard) PublishMsg(
	ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt,
) (ack *jetstream.PubAck, err error) {
	if u.messages--; u.messages < 0 {
		ack, err = u.JetStream.PublishMsg(ctx, m, options...)
	}
	if u.answers--; u.answers >= 0 {
		return nil, context.DeadlineExceeded
	}
	return ack, err
}

// A message that was stored without an answer is found again, also by a server that is alone.
// One that was not stored is refused if another came before.
func TestAnswerIsLost(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	servers := a.c.js
	a.c.js = &unheard{servers, 2, 0}
	one := appends(t, a, []byte("one"))
	takes(t, b, []byte("one"), one)
	two := appends(t, a, []byte("two"))
	takes(t, b, []byte("two"), two)

	appends(t, b, []byte("three"))
	a.c.js = &unheard{servers, 1, 1}
	if at, err := a.Append([]byte("another three"), nil); !errors.Is(err, ErrOutdated) {
		t.Errorf("a cut after another one, at the second attempt: %+v, %v", at, err)
	}

	bucket, err := a.c.Bucket(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	a.c.js = &unheard{servers, 1, 0}
	if n, err := bucket.PutLast(t.Context(), "key", []byte("value"), 0); n != 1 || err != nil {
		t.Errorf("a value without an answer: number %d, %v; want 1", n, err)
	}
	a.c.js = &unheard{servers, 1, 1}
	if n, err := bucket.PutLast(t.Context(), "another", []byte("value"), 0); !errors.Is(err, ErrOutdated) {
		t.Errorf("a value of another key that comes too late: number %d, %v", n, err)
	}
}

// What the servers refuse is not tried again; without an answer it is, until the time is over.
func TestPublishIsRefused(t *testing.T) {
	s := newServers(t, 1, false)
	ch := s.member("a", false)
	f := func(what, want string, outdated bool, options ...jetstream.PublishOpt) {
		t.Helper()
		limit := patience
		if strings.Contains(want, "quorum") {
			limit = 2 * retryPause
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		n, err := ch.c.publish(ctx, &nats.Msg{Subject: ch.subject, Data: []byte("x")}, options...)
		if n != 0 || err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrOutdated) != outdated {
			t.Errorf("%s: message %d, %v; want %q", what, n, err, want)
		}
		if over := ctx.Err() != nil; over != strings.Contains(want, "quorum") {
			t.Errorf("%s: it was tried until the time was over: %t", what, over)
		}
	}

	f("another stream", "expected stream does not match", false, jetstream.WithExpectStream("OTHER"))
	f("after another message", ErrOutdated.Error(), true, jetstream.WithExpectLastSequencePerSubject(9))
	if n, err := ch.c.publish(t.Context(), &nats.Msg{Subject: ch.subject}); n != 1 || err != nil {
		t.Errorf("message %d, %v", n, err)
	}
	ch.c.nc.Close()
	f("no connection", "no quorum of the NATS servers in time: ", false)

	ch.Stop()
	chunks := &chunkWriter{ctx: ch.ctx, c: ch.c, nuid: "n", sum: sha256.New()}
	if n, err := chunks.Write([]byte("chunk")); n != 0 || err == nil || chunks.count != 0 {
		t.Errorf("a part of a snapshot: %d bytes, %v, %d parts are stored", n, err, chunks.count)
	}
	if _, err := ch.Append([]byte("one"), nil); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot append cut 1 of chain 1: no quorum of the NATS servers in time: ") {
		t.Errorf("an append of a chain that was stopped: %v", err)
	}
}

// A bucket keeps the first value of a key, and others after the one that they follow. Before
// the node has joined nothing is asked.
func TestBuckets(t *testing.T) {
	s := newServers(t, 1, false)
	b, err := s.join("a").Bucket(t.Context(), "TEST")
	if err != nil {
		t.Fatal(err)
	}
	if b.Node != "a" {
		t.Errorf("it is of node %q", b.Node)
	}
	f := func(what string, got uint64, err error, want uint64, fails error) {
		t.Helper()
		if (err == nil) != (fails == nil) || fails != nil && !errors.Is(err, fails) || err == nil && got != want {
			t.Errorf("%s: change %d, %v; want %d, %v", what, got, err, want, fails)
		}
	}

	n, err := b.Create(t.Context(), "key", []byte("one"))
	f("the first", n, err, 1, nil)
	n, err = b.Create(t.Context(), "key", []byte("two"))
	f("another first", n, err, 0, ErrOutdated)
	n, err = b.Update(t.Context(), "key", []byte("two"), 1)
	f("the second", n, err, 2, nil)
	n, err = b.Update(t.Context(), "key", []byte("another"), 1)
	f("another second", n, err, 0, ErrOutdated)
	n, err = b.PutLast(t.Context(), "other", []byte("three"), 2)
	f("after all", n, err, 3, nil)
	n, err = b.PutLast(t.Context(), "other", []byte("four"), 2)
	f("after all but one", n, err, 0, ErrOutdated)
	e, err := b.Get(t.Context(), "key")
	if err != nil || string(e.Value()) != "two" {
		t.Errorf("the value is %v, %v", e, err)
	}
	large := make([]byte, 2<<20)
	for what, write := range map[string]func() (uint64, error){
		"a large first":  func() (uint64, error) { return b.Create(t.Context(), "large", large) },
		"a large second": func() (uint64, error) { return b.Update(t.Context(), "key", large, 2) },
	} {
		if n, err := write(); n != 0 || !errors.Is(err, nats.ErrMaxPayload) {
			t.Errorf("%s: change %d, %v", what, n, err)
		}
	}

	config := s.config("late")
	c, err := OpenLater(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if b, err = c.Bucket(t.Context(), "TEST"); err != nil {
		t.Fatal(err)
	}
	_, err = b.Create(t.Context(), "k", nil)
	f("create", 0, err, 0, errNotJoined)
	_, err = b.Update(t.Context(), "k", nil, 1)
	f("update", 0, err, 0, errNotJoined)
	_, err = b.WatchAll(t.Context())
	f("watch", 0, err, 0, errNotJoined)
}

// A bucket that is kept on one server is refused, unless that is allowed.
func TestUnsafeBucket(t *testing.T) {
	c := newServers(t, 1, false).join("a")
	if _, err := c.Bucket(t.Context(), "TEST"); err != nil {
		t.Fatal(err)
	}

	c.cfg.Insecure = false
	f := func(name string, limit time.Duration, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if _, err := c.Bucket(ctx, name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	f("TEST", patience, "stream KV_TEST is kept on 1 servers; want 3")
	f("no name", startPause, "cannot open bucket no name: ")
}

// A connection that is lost is made again, and the log says both.
func TestLostConnection(t *testing.T) {
	s, log := newServers(t, 1, false), &text{}
	wire := natstest.NewProxy(t, s.URLs()[0])
	config := s.config("a")
	config.Servers, config.Log = []string{wire.URL()}, slog.New(slog.NewTextHandler(log, nil))
	c, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	f := func(want string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !strings.Contains(log.String(), want); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the log has %s; want %s", log, want)
			}
		}
	}
	wire.Cut()
	f("the connection to the NATS servers is lost; reconnecting")
	wire.Heal()
	f("connected to the NATS servers again")
}

// Objects of others are left out of the snapshots, which come with the newest cut first, and
// of one cut with the one that was made last.
func TestListedSnapshots(t *testing.T) {
	s := newServers(t, 1, false)
	ch := s.member("a", false)
	put := func(number uint64, hash byte) {
		t.Helper()
		at := Place{Number: number, Hash: Hash{hash}}
		if _, err := ch.PutSnapshot(t.Context(), at.Encode(), func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []struct {
		number uint64
		hash   byte
	}{{5, 1}, {9, 2}, {5, 3}, {7, 4}} {
		put(p.number, p.hash)
	}
	for name, info := range map[string]string{
		"junk": "{", "nobody's": `{"name":"x"}`, "without a place": `{"name":"1.5.00"}`,
		"of another chain": `{"name":"2.5.00","metadata":{"place":"zz"}}`,
	} {
		if _, err := ch.c.js.Publish(t.Context(), infoSubject(name), []byte(info)); err != nil {
			t.Fatal(err)
		}
	}

	var got []string
	for _, s := range lists(t, ch) {
		got = append(got, fmt.Sprint(s.Place.Number, s.Place.Hash[0], s.whole))
	}
	if want := "9 2 true, 7 4 true, 5 3 true, 5 1 true"; strings.Join(got, ", ") != want {
		t.Errorf("the snapshots are %s; want %s", strings.Join(got, ", "), want)
	}
	if _, err := ch.PutSnapshot(t.Context(), []byte("short"), nil); !errors.Is(err, ErrBroken) {
		t.Errorf("a snapshot of no place: %v", err)
	}
}

// Parts of an object that are missing end its reading, as servers do that do not answer.
func TestChunksThatAreMissing(t *testing.T) {
	s := newServers(t, 1, false)
	ch := s.member("a", false)
	appends(t, ch, []byte("one"))
	puts(t, ch, noise(PartBytes+9))
	snapshot := lists(t, ch)[0]
	f := func(count uint32, want string) {
		t.Helper()
		r := &chunkReader{ctx: t.Context(), c: ch.c, subject: chunkSubjects + snapshot.nuid, count: count}
		all, err := io.ReadAll(r)
		if want == "" && (err != nil || uint64(len(all)) != snapshot.Bytes) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d parts: %d bytes, %v; want %q", count, len(all), err, want)
		}
	}

	f(snapshot.chunks, "")
	f(snapshot.chunks+1, io.ErrUnexpectedEOF.Error())
	whole := *snapshot
	whole.whole = false
	_, err := ch.OpenSnapshot(t.Context(), &whole)
	if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a snapshot without all parts: %v", err)
	}
	ch.c.nc.Close()
	f(snapshot.chunks, "cannot read part 0 of a snapshot: ")
}

// unpurged is a stream of which nothing can be removed.
type unpurged struct{ jetstream.Stream }

func (unpurged) Purge(context.Context, ...jetstream.StreamPurgeOpt) error {
	return errors.New("not now")
}

// What cannot be listed or removed ends the removal.
func TestPruneThatFails(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	for range keptSnapshots + 1 {
		appends(t, a, []byte("cut"))
		puts(t, a, noise(10))
	}
	f := func(want string) {
		t.Helper()
		if err := a.Prune(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}

	objects, stream := a.c.objects, a.c.stream
	a.c.objects = unpurged{objects}
	f("cannot delete a snapshot: not now")
	a.c.objects, a.c.stream = objects, unpurged{stream}
	f("cannot remove the cuts of chain 1 before cut 2: not now")
	a.c.stream = stream
	if err := a.Prune(t.Context()); err != nil || len(lists(t, a)) != keptSnapshots {
		t.Errorf("in the end %v, %d snapshots", err, len(lists(t, a)))
	}
	a.c.nc.Close()
	f("cannot list the snapshots: ")
}

// refusing are servers that refuse a stream or a bucket.
type refusing struct {
	jetstream.JetStream
	name string
}

func (r refusing) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if name == r.name {
		return nil, &jetstream.APIError{Code: 403, Description: "no"}
	}
	return r.JetStream.Stream(ctx, name)
}

func (r refusing) KeyValue(ctx context.Context, name string) (jetstream.KeyValue, error) {
	if name == r.name {
		return nil, &jetstream.APIError{Code: 403, Description: "no"}
	}
	return r.JetStream.KeyValue(ctx, name)
}

// A node joins only if all that it needs can be opened. What comes after a refusal is not
// asked for.
func TestJoinThatIsRefused(t *testing.T) {
	c := newServers(t, 1, false).join("a")
	servers := c.js
	f := func(name, want string, opened bool) {
		t.Helper()
		late := &Bucket{name: "LATE", c: c}
		c.awaited, c.js = []*Bucket{late}, refusing{servers, name}
		err := c.join(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) || (late.kv != nil) != opened {
			t.Errorf("without %s: %v, the last bucket is opened: %t; want %q", name, err, late.kv != nil, want)
		}
	}

	f(streamName, "cannot open stream "+streamName+": ", false)
	f(leadsBucket, "cannot open the buckets of the cluster: ", false)
	f(nodesBucket, "cannot open the buckets of the cluster: ", false)
	f(snapshotsStream, "cannot open the buckets of the cluster: ", false)
	f("LATE", "cannot open bucket LATE: ", false)
	f("nothing", "", true)
}

// A part is taken if it follows those before it in all that its head says.
func TestPartsThatFollow(t *testing.T) {
	messages, _, err := encodeCut(Place{}, noise(2*PartBytes), nil)
	if err != nil || len(messages) < 3 {
		t.Fatal(len(messages), err)
	}
	f := func(what string, at int) {
		t.Helper()
		second := bytes.Clone(messages[1])
		if at >= 0 {
			second[at]++
		}
		a := new(assembly)
		first, err := a.add(1, messages[0])
		if first != nil || err != nil {
			t.Fatal(first, err)
		}
		cut, err := a.add(2, second)
		if refused := errors.Is(err, ErrBroken); cut != nil || refused != (at >= 0) {
			t.Errorf("with another %s: %+v, %v", what, cut, err)
		}
	}

	f("nothing", -1)
	f("number of its part", len(magic)+1)
	f("number of parts", len(magic)+3)
	f("format", len(magic)+5)
	f("hash", headerLen-1)
}

// A cut of the program before is read, and none of a program after this one.
func TestVersionsOfCuts(t *testing.T) {
	messages, _, err := encodeCut(Place{}, []byte("batch"), []byte("note"))
	if err != nil {
		t.Fatal(err)
	}

	for version, read := range []bool{false, true, true, false} {
		message := bytes.Clone(messages[0])
		message[len(magic)-1] = byte(version)
		cut, err := new(assembly).add(1, message)
		if refused := errors.Is(err, ErrBroken); refused == read || read && string(cut.Note) != "note" {
			t.Errorf("version %d: %+v, %v", version, cut, err)
		}
	}
}

// A cut may be empty.
func TestEmptyCut(t *testing.T) {
	messages, _, err := encodeCut(Place{}, nil, nil)
	if err != nil || len(messages) != 1 {
		t.Fatal(len(messages), err)
	}
	cut, err := new(assembly).add(1, messages[0])
	if err != nil || cut == nil || len(cut.Batch) > 0 || len(cut.Note) > 0 || cut.Place.Number != 1 {
		t.Errorf("%+v, %v", cut, err)
	}
}
