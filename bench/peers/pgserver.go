package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A PostgreSQL of our own: a new cluster in a directory of ours, which listens
// on a spare loopback port and on a socket, and which nobody else knows.

// postgresPrograms is where Debian's packages have the servers, by version.
const postgresPrograms = "/usr/lib/postgresql/*/bin"

// findPostgres returns the directory of the newest installed server; "" when
// there is none.
func findPostgres() string {
	found, err := filepath.Glob(filepath.Join(postgresPrograms, "postgres"))
	if err != nil || len(found) == 0 {
		return ""
	}
	slices.SortFunc(found, func(a, b string) int { return postgresVersion(a) - postgresVersion(b) })
	return filepath.Dir(found[len(found)-1])
}

func postgresVersion(program string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(program))))
	if err != nil {
		return 0
	}
	return n
}

// postgresSettings are how the cluster is tuned, for a machine with so many
// bytes of memory that has nothing else to do. It is rebuilt from the chain at
// will, so nothing is logged that a load does not need; what is committed is
// on disk, as the node's is.
func postgresSettings(memory int64) []string {
	mb := func(bytes int64) string { return fmt.Sprintf("%dMB", bytes>>20) }
	return []string{
		"shared_buffers=" + mb(memory/4),
		"effective_cache_size=" + mb(memory*3/4),
		"work_mem=64MB",
		"maintenance_work_mem=" + mb(min(memory/16, 1<<30)),
		"random_page_cost=1.1", // everything is in memory
		"wal_level=minimal", "max_wal_senders=0", "max_wal_size=16GB",
		"autovacuum=off",                    // rows are loaded frozen and never change
		"jit=off",                           // compiling takes longer than any question
		"max_parallel_workers_per_gather=0", // requests run beside each other
		"logging_collector=off",
	}
}

// startPostgres makes a cluster in dir and starts it. Its socket is in sockets.
func startPostgres(ctx context.Context, on *cores, dir, sockets string) (*child, error) {
	programs := findPostgres()
	if programs == "" {
		return nil, fmt.Errorf("no server in %s", postgresPrograms)
	}
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), chown(dir, owner), chown(sockets, owner)); err != nil {
		return nil, fmt.Errorf("cannot make a directory for PostgreSQL: %w", err)
	}
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata", dir,
		"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	initdb.Dir = "/"
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot make a cluster in %s: %w: %s (the user of PostgreSQL must be able to "+
			"enter its parents; --data names another place)", dir, err, lastText(said))
	}
	port, err := sparePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-D", dir, "-k", sockets, "-h", "127.0.0.1", "-p", port}
	for _, s := range postgresSettings(memoryAvailable()) {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(filepath.Join(programs, "postgres"), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	c, err := start(on, cmd, filepath.Join(filepath.Dir(dir), "postgres.log"))
	if err != nil {
		return nil, err
	}
	c.stopBy = syscall.SIGINT // ends connections, and does not wait for them
	c.Address = fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres", sockets, port)
	return c, nil
}

// unprivileged is who runs PostgreSQL, which refuses to run as root: the user
// that its packages make. nil is ourselves.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and its own user is not there: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, bad := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("cannot read who %s is: %w", u.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func chown(dir string, owner *syscall.Credential) error {
	if owner == nil {
		return nil
	}
	return os.Chown(dir, int(owner.Uid), int(owner.Gid))
}

func lastText(b []byte) string {
	text := strings.TrimSpace(string(b))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
