package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What /proc says of this process is near what it does.
func TestOwnProcess(t *testing.T) {
	before, own := CPU(os.Getpid()), Own()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
	}

	for _, used := range []time.Duration{CPU(os.Getpid()) - before, Own() - own} {
		if used < 5*time.Millisecond || used > 5*time.Second {
			t.Errorf("100 ms of work are %s of CPU", used)
		}
	}
	if r := Read(os.Getpid()); r.Resident < 1<<20 || r.Peak < r.Resident {
		t.Errorf("resident %d, at most %d", r.Resident, r.Peak)
	}
	if m := ReadMachine(); m.Busy <= 0 || m.Memory < m.Available || m.Available <= 0 || m.Kernel == "" {
		t.Errorf("the machine is %+v", m)
	}
}

// A spare port is none that somebody is given who asks for any, and none that was named before.
func TestSparePort(t *testing.T) {
	named := map[string]bool{}
	for range 500 {
		address, err := SparePort()
		if err != nil || !regexp.MustCompile(`^127\.0\.0\.1:[12]\d{4}$`).MatchString(address) || named[address] {
			t.Fatalf("a spare port is %q, %v; named before: %t", address, err, named[address])
		}
		named[address] = true
	}
}

// Cores are apart unless the server has some of the client's.
func TestApart(t *testing.T) {
	pinned := &Cores{server: []int{0, 1}, client: []int{2, 3}}
	shared := &Cores{server: []int{0, 1}, client: []int{0, 1}}
	f := func(c *Cores, n int, want bool) {
		t.Helper()
		if got := c.Apart(n); got != want {
			t.Errorf("%d cores of %v beside %v: apart is %v", n, c.server, c.client, got)
		}
	}

	f(pinned, 0, true)
	f(pinned, 2, true)
	f(pinned, 3, false)
	f(shared, 0, false)
	f(shared, 1, false)
}

// A child is counted, waited for, and stopped; one that ends says why.
func TestChild(t *testing.T) {
	cores, err := Split(true)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	const burn = `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; `
	c, err := Start(cores, exec.Command("sh", "-c", burn+"sleep 60; true"), log)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Await(t.Context(), PollEvery, func() error {
		if c.CPU() < 5*time.Millisecond {
			return errors.New("it does nothing")
		}
		return nil
	})
	if err != nil || !c.Alive() {
		t.Errorf("it is alive %v, %v", c.Alive(), err)
	}
	if err := c.Stop(); err != nil || c.Alive() || c.Stop() != nil {
		t.Errorf("stopped it is alive %v, %v", c.Alive(), err)
	}

	_, err = Launch(t.Context(), cores, exec.Command("sh", "-c", "echo bad luck >&2; exit 3"), log)
	if err == nil || !strings.Contains(err.Error(), "bad luck") {
		t.Errorf("a child that ends is %v", err)
	}
	if (*Child)(nil).Stop() != nil || (*Child)(nil).CPU() != 0 {
		t.Error("no child is not nothing")
	}
	elsewhere := Node{API: "127.0.0.1:1"} // a suite measures it without a child
	if cpu := elsewhere.CPU; cpu() != 0 || elsewhere.Counters() != nil {
		t.Error("of a node elsewhere more is known than its answers")
	}
}

// A counter without labels is its own sum.
func TestSum(t *testing.T) {
	counters := map[string]float64{
		`requests_total{route="a"}`: 1, `requests_total{route="b"}`: 2, "requests_total_ever": 8, "bytes_total": 4,
	}
	for name, want := range map[string]float64{"requests_total": 3, "bytes_total": 4, "total": 0} {
		if got := Sum(counters, name); got != want {
			t.Errorf("the sum of %s is %v; want %v", name, got, want)
		}
	}
}
