package torture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/actors/cluster/natstest"
	"tidemark/bench/cluster"
	"tidemark/bench/process"
)

// fleet is a cluster of processes: three NATS servers, and three nodes that may all
// write. Every connection among them goes through a proxy.
type fleet struct {
	t       *testing.T
	servers []*cluster.Server
	routes  map[[2]int]*natstest.Proxy // from a server to another
	members []*member
	key     string

	watches sync.WaitGroup
	ended   chan struct{}
	*record
}

// member is a node of a fleet.
type member struct {
	*node
	name  string
	wires []*natstest.Proxy // to each server
	seen  standing
}

const (
	fleetServers = 3
	fleetNodes   = 3
	// fleetMarket is small. Its chains have a block every quarter of a second and every
	// two seconds; on chain 1 one would wait for the next block, not for a writer.
	fleetMarket = "[sim]\npositions = 200\npools = 60\ndays = 3\n[refresh]\nevery = \"500ms\"\n" +
		"[[chains]]\nid = 1\nenabled = false\n"
	// fleetPatience bounds every wait for a fleet: more than elections, a promotion and
	// a busy machine take together.
	fleetPatience = 90 * time.Second
)

// fleetChains are the chains of a fleet. The first one shows a generation with every
// refresh.
var fleetChains = []int64{42161, 43114}

// newFleet starts a fleet, and watches it until the test ends.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, routes: map[[2]int]*natstest.Proxy{}, ended: make(chan struct{}), record: newRecord(t)}
	f.startServers()
	for i := range fleetNodes {
		m := f.newMember(fmt.Sprint("n", i+1))
		m.start()
		if i == 0 { // the first one begins the data of the cluster
			m.await("a writer", func() bool { return strings.Count(m.health(), `"role":"writer"`) == len(fleetChains) })
		}
		f.members = append(f.members, m)
	}

	f.key = f.members[0].customer("watcher", "unlimited")
	for _, m := range f.members {
		m.await("the key", func() bool {
			status, _, err := get(m.url+"/v1/positions?limit=1", f.key)
			return err == nil && status == http.StatusOK
		})
		f.watches.Go(func() { f.watch(m) })
		f.present(m)
	}
	t.Cleanup(f.endWatches)
	f.settle("at the start")
	return f
}

// buildServer builds nats-server, once, and returns its path.
func buildServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(builds, "nats-server")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		t.Fatalf("cannot build nats-server: %v: %s", err, out)
	}
	return path
}

func (f *fleet) startServers() {
	t := f.t
	t.Helper()
	on, err := process.Split(false)
	if err != nil {
		t.Fatal(err)
	}
	if f.servers, err = cluster.NewServers(buildServer(t), t.TempDir(), fleetServers, on); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.StopAll(f.servers) })

	for i, s := range f.servers {
		s.Routes = nil
		for j, other := range f.servers {
			if i != j {
				p := natstest.NewProxy(t, "nats://"+other.Peers)
				f.routes[[2]int{i, j}] = p
				s.Routes = append(s.Routes, strings.TrimPrefix(p.URL(), "nats://"))
			}
		}
	}
	if err := cluster.StartAll(t.Context(), f.servers); err != nil {
		t.Fatal(err)
	}
}

// newMember prepares a node. It is not started.
func (f *fleet) newMember(name string) *member {
	f.t.Helper()
	m := &member{name: name}
	var urls []string
	for _, s := range f.servers {
		p := natstest.NewProxy(f.t, "nats://"+s.Client)
		m.wires, urls = append(m.wires, p), append(urls, p.URL())
	}
	m.node = newNode(f.t, fleetMarket+cluster.Membership(name, urls, cluster.MonitoringURLs(f.servers)))
	return m
}

func (m *member) health() string {
	_, body, err := get(m.url+"/health", "")
	if err != nil {
		return ""
	}
	return body
}

// kill ends a node with -9. What it shows next may be older than what it showed.
func (f *fleet) kill(m *member) {
	f.absent(m)
	m.kill()
}

// restart starts a node again.
func (f *fleet) restart(m *member) {
	f.t.Helper()
	m.launch()
	m.await("its address", m.findURL)
	f.present(m)
}

// streamLeader returns the server that leads the stream of cuts; nil if none does.
func (f *fleet) streamLeader() *cluster.Server {
	name := ""
	for _, s := range f.servers {
		_, body, err := get("http://"+s.Monitoring+"/jsz?accounts=true&streams=true", "")
		var told struct {
			Accounts []struct {
				Streams []struct {
					Name    string
					Cluster struct{ Leader string }
				} `json:"stream_detail"`
			} `json:"account_details"`
		}
		if err != nil || json.Unmarshal([]byte(body), &told) != nil {
			continue
		}

		for _, a := range told.Accounts {
			for _, stream := range a.Streams {
				if stream.Name == "TIDEMARK_CUTS" {
					name = stream.Cluster.Leader
				}
			}
		}
	}

	for _, s := range f.servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// startServer starts a server again and waits until it has what the others have.
func (f *fleet) startServer(s *cluster.Server) {
	f.t.Helper()
	err := s.Start()
	if err == nil {
		err = s.Await(f.t.Context())
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// await waits until something is so, and returns how long that took.
func (f *fleet) await(what string, is func() bool) time.Duration {
	f.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > fleetPatience {
			for _, m := range f.members {
				f.t.Logf("%s says %s\n%s", m.name, m.health(), m.logs.String())
			}
			f.t.Fatalf("%s did not come within %s", what, fleetPatience)
		}
		time.Sleep(pollEvery)
	}
	return time.Since(began)
}

// settle waits until all nodes show what any of them has shown before, and returns how
// long that took.
func (f *fleet) settle(when string) time.Duration {
	f.t.Helper()
	newest := f.newestShown()
	return f.await("the same on all nodes "+when, func() bool { return f.allHave(newest) })
}

func (f *fleet) endWatches() {
	select {
	case <-f.ended:
	default:
		close(f.ended)
	}
	f.watches.Wait()
}

// judge ends the fleet: nothing that was shown is missing, nothing differs, and every
// store is sound. A node that joins last has it all, too.
func (f *fleet) judge() {
	t := f.t
	t.Helper()
	late := f.newMember("late")
	late.start()
	f.members = append(f.members, late)
	f.watches.Go(func() { f.watch(late) })
	f.present(late)
	f.settle("at the end")
	f.await("pages to compare", func() bool { return f.comparedOf(late) > 2*len(fleetChains) })
	f.endWatches()

	if f.compared < f.pages/10 {
		t.Errorf("only %d of %d pages could be compared between nodes", f.compared, f.pages)
	}
	for _, m := range f.members {
		m.stop()
		if said, err := m.run("check", "--data", m.dir); err != nil {
			t.Errorf("the data of %s: %v: %s", m.name, err, said)
		}
	}
}
