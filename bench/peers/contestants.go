package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// contestant is a database to compare with.
type contestant struct {
	name     string
	packages []string // Debian's, of its server; none: it is built in
	find     func() string
	version  func(context.Context) (string, error)
	// start starts a server of our own, in a directory; nil: there is none,
	// the database is a file and its work is the front's.
	start func(ctx context.Context, on *cores, dir, sockets string) (*child, error)
	load  func(ctx context.Context, at, rows string, w *work) error
	open  func(ctx context.Context, at string, chains []uint32) (peer, error)
	// memory is what it takes beside what is on disk, for so many bytes of
	// bodies and entries of lists.
	memory func(bodies, entries int64) int64
}

var contestants = []contestant{
	{
		name: "PostgreSQL", packages: []string{"postgresql"}, find: findPostgres,
		version: saidBy(func() string { return filepath.Join(findPostgres(), "postgres") }, "PostgreSQL"),
		start:   startPostgres, open: openPostgres,
		load: func(ctx context.Context, at, rows string, w *work) error {
			c, all, err := w.prepare(rows)
			if err != nil {
				return err
			}
			return loadPostgres(ctx, at, rows, c, all)
		},
	},
	{
		name: "Redis", packages: []string{"redis-server"}, find: findRedis,
		version: saidBy(findRedis, "v="), start: startRedis, open: openRedis,
		load: func(_ context.Context, at, rows string, w *work) error {
			c, err := readColumns(rows)
			if err != nil {
				return err
			}
			w.begin()
			return loadRedis(at, rows, c)
		},
		// Strings go up to the next size class of the allocator; a member has
		// its string, its node and its entry of the table.
		memory: func(bodies, entries int64) int64 { return bodies*5/4 + entries*110 },
	},
	{
		name: "SQLite", version: versionOfSQLite, open: openSQLite,
		load: func(_ context.Context, at, rows string, w *work) error {
			c, all, err := w.prepare(rows)
			if err != nil {
				return err
			}
			return loadSQLite(at, rows, c, all)
		},
	},
}

// saidBy asks a program for its version: the word that follows or holds mark.
func saidBy(program func() string, mark string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := exec.CommandContext(ctx, program(), "--version").Output()
		if err != nil {
			return "", fmt.Errorf("cannot ask %s for its version: %w", program(), err)
		}
		_, after, _ := strings.Cut(string(out), mark)
		for _, word := range strings.Fields(after) {
			if word[0] >= '0' && word[0] <= '9' {
				return word, nil
			}
		}
		return strings.TrimSpace(string(out)), nil
	}
}

// named returns a contestant; nil when there is none.
func named(name string) *contestant {
	for i := range contestants {
		if strings.EqualFold(contestants[i].name, name) {
			return &contestants[i]
		}
	}
	return nil
}

// install makes sure that a contestant's server is there. Debian starts some
// servers when it installs them; those are left alone.
func (c *contestant) install(ctx context.Context, say func(string, ...any)) error {
	if c.find == nil || c.find() != "" {
		return nil
	}
	missing := strings.Join(c.packages, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s is not installed, and only root can: apt-get install %s", c.name, missing)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s is not installed, and there is no apt-get to install %s with", c.name, missing)
	}
	say("installing %s", missing)
	err := aptGet(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, c.packages...))
	if err != nil { // most often because the lists of packages are old
		if err = aptGet(ctx, []string{"update"}); err == nil {
			err = aptGet(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, c.packages...))
		}
	}
	if err == nil && c.find() == "" {
		err = errors.New("the server is not where it was looked for")
	}
	if err != nil {
		return fmt.Errorf("cannot install %s (%s): %w", c.name, missing, err)
	}
	return nil
}

func aptGet(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lastText(said))
	}
	return nil
}
