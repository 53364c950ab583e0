//go:build !linux

package main

import "errors"

// BenchCmd measures nodes, on Linux: it needs epoll and /proc.
type BenchCmd struct{}

// Run says so.
func (BenchCmd) Run() error { return errors.New("the bench suite runs on Linux only") }
