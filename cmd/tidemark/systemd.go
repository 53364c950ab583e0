package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// readyPoll is how often a start looks whether the node has become ready.
	readyPoll = 20 * time.Millisecond
	// extendEvery is how often a start asks the manager for more time, and extension how
	// much it asks for: a start that reads a chain for the first time takes hours.
	extendEvery = 10 * time.Second
	extension   = time.Minute
)

// notifyManager tells the service manager what the node waits for, when it is ready, and
// then that it is alive, at half the interval at which the manager would restart it.
// Without a manager it does nothing.
func (n *node) notifyManager(ctx context.Context) {
	if !n.awaitReady(ctx) {
		return
	}
	n.tellManager(daemon.SdNotifyReady + "\nSTATUS=ready")

	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.log.Warn("cannot read the watchdog interval of the service manager", "error", err)
	}
	// Without a watchdog the interval is 0, and no beat ever comes.
	for beat := time.Tick(every / 2); ; {
		select {
		case <-ctx.Done():
			return
		case <-beat:
			n.tellManager(daemon.SdNotifyWatchdog)
		}
	}
}

// awaitReady waits until the node is ready, and keeps the manager from ending a start that
// takes long. It reports whether the node became ready before ctx ended.
func (n *node) awaitReady(ctx context.Context) bool {
	var extended time.Time
	for {
		err := n.ready.check()
		if err == nil {
			return true
		}
		if time.Since(extended) >= extendEvery {
			extended = time.Now()
			n.extendTimeout(extension)
			n.tellManager("STATUS=" + err.Error())
		}

		select {
		case <-ctx.Done():
			return false
		case <-time.After(readyPoll):
		}
	}
}

// extendTimeout asks the manager to wait so much longer for a start or a stop.
func (n *node) extendTimeout(by time.Duration) {
	n.tellManager(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds()))
}

func (n *node) tellManager(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Warn("cannot notify the service manager", "state", state, "error", err)
	}
}

// inheritedListeners returns the listeners that a service manager opened: a socket unit
// names them api and ops by FileDescriptorName.
func inheritedListeners() (api, ops net.Listener, err error) {
	byName, err := activation.ListenersWithNames()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot take the sockets of the service manager: %w", err)
	}

	for name, listeners := range byName {
		switch {
		case name == "api" && len(listeners) == 1:
			api = listeners[0]
		case name == "ops" && len(listeners) == 1:
			ops = listeners[0]
		default:
			return nil, nil, fmt.Errorf("the service manager passed %d sockets named %q; "+
				"allowed are one named api and one named ops", len(listeners), name)
		}
	}
	return api, ops, nil
}
