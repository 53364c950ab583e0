package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A Redis of our own: on a spare loopback port and a socket, with nothing on
// disk.

func findRedis() string {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return ""
	}
	return program
}

func startRedis(ctx context.Context, on *cores, dir, sockets string) (*child, error) {
	program := findRedis()
	if program == "" {
		return nil, errors.New("no redis-server in PATH")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a directory for Redis: %w", err)
	}
	port, err := sparePort()
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(sockets, "redis")
	cmd := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--unixsocket", socket,
		"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
	c, err := start(on, cmd, filepath.Join(filepath.Dir(dir), "redis.log"))
	if err != nil {
		return nil, err
	}
	c.Address = socket
	return c, nil
}
