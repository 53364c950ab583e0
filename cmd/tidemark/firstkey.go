package main

import (
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/term"

	"tidemark/storage/registry"
)

// makeFirstAccount makes the account of a first start. Its key is issued later
// and only where somebody sees it and nobody else can reach the node: the log of
// a service manager would keep it. As long as such a key is active the node is
// for its own machine.
func (n *node) makeFirstAccount() error {
	local := isLocal(n.apiListener.Addr())
	if id := n.registry.PrintedKey(); id != "" && !local {
		return fmt.Errorf("cannot serve on %s: %s, the key that was printed at the first start, is "+
			"active and has no limits; start with --listen 127.0.0.1:8080, end it with "+
			"`tidemark keys revoke %s --data %s`, issue another with `tidemark keys issue`, "+
			"and start again", n.apiListener.Addr(), id, id, shellWord(n.Data))
	}

	created, err := n.registry.CreateDemo()
	if err != nil {
		return fmt.Errorf("cannot create the account %s: %w", registry.Demo, err)
	}
	n.printsKey = created && local && term.IsTerminal(int(os.Stdout.Fd()))
	return nil
}

// curlOf is a command that asks the API at an address for a row.
func curlOf(address, key string) string {
	socket := ""
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		address, socket = "http://localhost", "--unix-socket "+shellWord(path)+" "
	}
	return fmt.Sprintf(`curl %s-H "KC-APIKey: %s" "%s/v1/positions?limit=1"`, socket, key, address)
}

// isLocal tells whether only this machine can connect to an address.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// keyAdvice says how to ask: with a key that is issued and shown this once, or
// how to get one.
func (n *node) keyAdvice() string {
	if n.printsKey {
		key, err := n.registry.IssueDemoKey()
		if err == nil {
			return fmt.Sprintf("\nAPI key of the account %s, shown this once: %s\n\n"+
				"  %s\n\n", registry.Demo, key, curlOf(n.url, key))
		}
		n.log.Error("cannot issue the first key", "account", registry.Demo, "error", err)
	}

	command := "tidemark keys issue --account " + registry.Demo
	if n.originOf("data") != "default" {
		command += " --data " + shellWord(n.Data)
	}
	return fmt.Sprintf("\nTo get an API key: %s\n\n", command)
}
