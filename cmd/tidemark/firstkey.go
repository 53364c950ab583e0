package main

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/term"

	"tidemark/storage/registry"
)

// makeFirstKey makes the account of a first start. A key is made only where
// somebody sees it and where nobody else can reach the node: the log of a
// service manager would keep it. As long as such a key is active the node is
// for its own machine.
func (n *node) makeFirstKey() error {
	local := isLocal(n.apiListener.Addr())
	if id := n.registry.PrintedKey(); id != "" && !local {
		return fmt.Errorf("cannot serve on %s: %s, the key that was printed at the first start, is "+
			"active and has no limits; start with --listen 127.0.0.1:8080, end it with "+
			"`tidemark keys revoke %s --data %s`, issue another with `tidemark keys issue`, "+
			"and start again", n.apiListener.Addr(), id, id, n.Data)
	}

	var err error
	shown := local && term.IsTerminal(int(os.Stdout.Fd()))
	if n.key, err = n.registry.CreateDemo(shown); err != nil {
		return fmt.Errorf("cannot create the account %s: %w", registry.Demo, err)
	}
	return nil
}

// isLocal tells whether only this machine can connect to an address.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// keyAdvice says how to ask: with the key that was made, shown this once, or
// how to get one.
func (n *node) keyAdvice() string {
	if n.key != "" {
		return fmt.Sprintf("\nAPI key of the account %s, shown this once: %s\n\n"+
			"  curl -H \"KC-APIKey: %s\" \"%s/v1/positions?limit=1\"\n\n", registry.Demo, n.key, n.key, n.url)
	}

	command := "tidemark keys issue --account " + registry.Demo
	if n.from("data") != "default" {
		command += " --data " + n.Data
	}
	return fmt.Sprintf("\nTo get an API key: %s\n\n", command)
}
