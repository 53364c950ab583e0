package main

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// unixPrefix begins the address of a unix socket.
const unixPrefix = "unix:"

// socketMode lets a proxy of the node's group connect, and nobody else.
const socketMode = 0o660

// openListeners opens the node's listeners, or takes those that a service manager
// opened; on an error none stays open.
func (l *loaded) openListeners() (api, ops net.Listener, err error) {
	if api, ops, err = inheritedListeners(); err != nil {
		return nil, nil, err
	}

	if api == nil {
		if api, err = listenOn(l.Listen); err != nil {
			return nil, nil, err
		}
	}
	if ops == nil {
		if ops, err = listenOn(l.OpsListen); err != nil {
			api.Close()
			return nil, nil, err
		}
	}
	return api, ops, nil
}

// listenOn listens on HOST:PORT or unix:PATH.
func listenOn(address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, unixPrefix)
	if !isUnix {
		return net.Listen("tcp", address)
	}

	// A socket that nobody listens on was left behind by a killed node.
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("another process listens on %s", path)
	} else if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}

	socket, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		socket.Close()
		return nil, err
	}
	return socket, nil
}

// urlOf is what a client of a listener types.
func urlOf(l net.Listener, isTLS bool) string {
	switch {
	case l.Addr().Network() == "unix":
		return unixPrefix + l.Addr().String()
	case isTLS:
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}
