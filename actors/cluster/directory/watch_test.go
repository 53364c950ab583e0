package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// connect opens the directory of a node over a server, and a client of that server.
func connect(t *testing.T) (*Directory, jetstream.JetStream) {
	t.Helper()
	s, quiet := natstest.Start(t, 1, false), slog.New(slog.DiscardHandler)
	c, err := cluster.Open(t.Context(), cluster.Config{
		Servers: s.URLs(), Name: "a", Insecure: true, Metrics: metrics.NewSet(), Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	d, err := Open(t.Context(), c, metrics.NewSet(), quiet)
	if err != nil {
		t.Fatal(err)
	}

	return d, natstest.JetStream(t, s.URLs()[0])
}

// account is a change that makes an account.
func account(id uint64) registry.Change {
	return registry.Change{Account: &accountstore.AccountRecord{ID: id, Name: fmt.Sprint("n", id), Plan: "free"}}
}

// names lists changes, each with its number.
func names(changes []registry.Change) string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s at %d", c.Name(), c.Number))
	}
	return strings.Join(list, ", ")
}

// Changes are stored one after the other, and read whole. Nothing of a reading stays at the
// servers.
func TestPublishAndRead(t *testing.T) {
	d, js := connect(t)
	f := func(c registry.Change, after, want uint64, problem error) {
		t.Helper()
		if got, err := d.Publish(c, after); got != want || !errors.Is(err, problem) {
			t.Errorf("%s after %d: number %d, %v; want %d, %v", c.Name(), after, got, err, want, problem)
		}
	}

	f(account(1), 0, 1, nil)
	f(account(2), 1, 2, nil)
	f(account(3), 1, 0, registry.ErrOutdated)
	f(account(1), 2, 3, nil)
	if done, refused := d.changes.Get(), d.refused.Get(); done != 3 || refused != 1 {
		t.Errorf("%d changes and %d conflicts are counted; want 3 and 1", done, refused)
	}

	for range 3 {
		changes, err := d.Read()
		if got := names(changes); err != nil || got != "account.2 at 2, account.1 at 3" {
			t.Errorf("read are %s, %v", got, err)
		}
	}
	stream, err := js.Stream(t.Context(), "KV_"+bucketName)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		info, err := stream.Info(t.Context())
		if err == nil && info.State.Consumers == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d readings are still open, %v", info.State.Consumers, err)
		}
	}
}

// A watch whose time is over ends without an error, whichever of its two ends is seen first.
func TestWatchWhoseTimeIsOver(t *testing.T) {
	d, _ := connect(t)
	var watch jetstream.KeyWatcher
	d.watching = func(w jetstream.KeyWatcher) { watch = w }

	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := d.watchOnce(ctx, func([]registry.Change) error {
			cancel()
			for range watch.Updates() {
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A watch brings all records at first, and then each change, until it is over.
func TestWatch(t *testing.T) {
	d, js := connect(t)
	if _, err := d.Publish(account(1), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Publish(account(2), 1); err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), bucketName)
	if err != nil {
		t.Fatal(err)
	}
	watch := make(chan jetstream.KeyWatcher, 1)
	d.watching = func(w jetstream.KeyWatcher) { watch <- w }
	applied, over := make(chan string), make(chan error)
	f := func(ctx context.Context, fails error) {
		go func() {
			over <- d.watchOnce(ctx, func(changes []registry.Change) error {
				applied <- names(changes)
				return fails
			})
		}()
	}
	comes := func(want string) {
		t.Helper()
		if got := <-applied; got != want {
			t.Errorf("applied are %q; want %q", got, want)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	f(ctx, nil)
	comes("account.1 at 1, account.2 at 2")
	if _, err := d.Publish(account(3), 2); err != nil {
		t.Fatal(err)
	}
	comes("account.3 at 3")
	if _, err := bucket.PutString(t.Context(), "other", "{}"); err != nil {
		t.Fatal(err)
	}
	comes("")
	cancel()
	if err := <-over; err != nil {
		t.Errorf("a watch that is ended: %v", err)
	}
	<-watch

	f(t.Context(), nil)
	comes("account.1 at 1, account.2 at 2, account.3 at 3")
	if err := (<-watch).Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err == nil || err.Error() != "the watch of the accounts has ended" {
		t.Errorf("a watch that the server ends: %v", err)
	}

	full := errors.New("the disk is full")
	f(t.Context(), full)
	comes("account.1 at 1, account.2 at 2, account.3 at 3")
	if err := <-over; err != full {
		t.Errorf("changes that cannot be applied: %v", err)
	}
}

// Without servers nothing is stored or read, and the log says once that the others are not
// followed; each attempt is counted.
func TestWithoutServers(t *testing.T) {
	var log strings.Builder
	c, err := cluster.OpenLater(cluster.Config{
		Servers: []string{"nats://127.0.0.1:1"}, Name: "a", Insecure: true, Metrics: metrics.NewSet(),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	d, err := Open(t.Context(), c, metrics.NewSet(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}

	const unanswered = "the NATS servers have not answered since this node was started"
	f := func(err error, want string) {
		t.Helper()
		if want += unanswered; err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
	number, err := d.Publish(account(1), 0)
	f(err, "cannot store account.1 for all nodes: ")
	list, err := d.Read()
	f(err, "cannot read the accounts of the cluster: ")
	if number != 0 || list != nil {
		t.Errorf("a change has number %d, and read are %v", number, list)
	}
	if d.changes.Get() != 0 || d.refused.Get() != 0 {
		t.Errorf("%d changes and %d conflicts are counted", d.changes.Get(), d.refused.Get())
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			d.Follow(ctx, func([]registry.Change) error { t.Error("changes are applied"); return nil })
		}()
		time.Sleep(2500 * time.Millisecond)
		cancel()
		<-over
	})
	const said = "cannot follow the shared accounts; this node works on what it knows"
	if n := d.failures.Get(); n != 3 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), said) {
		t.Errorf("%d failures in 2.5 s, the log has %s", n, &log)
	}
}
