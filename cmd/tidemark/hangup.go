package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangupIgnored tells whether this process was started with SIGHUP ignored, as by nohup. It
// is read before takeHangups, after which nothing tells any more.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

// hangups receives SIGHUP. A terminal that is closed, or a manager that asks for a
// reload, must not end a node.
type hangups chan os.Signal

// takeHangups is called before the command line is read, so that a node that is still
// starting receives the signal too. It reloads its configuration once it runs.
func takeHangups() hangups {
	h := make(hangups, 1)
	signal.Notify(h, syscall.SIGHUP)
	return h
}

// giveBack has SIGHUP end the process again, which is right for every command that is
// no node, until it has something to undo (interruptContext). One that came meanwhile ends
// it now.
func (h hangups) giveBack() {
	signal.Stop(h)
	select {
	case <-h:
		syscall.Kill(syscall.Getpid(), syscall.SIGHUP)
	default:
	}
}

// servesNode reports whether a command runs a node in this process.
func servesNode(command string) bool { return command == "serve" || command == "bench node" }
