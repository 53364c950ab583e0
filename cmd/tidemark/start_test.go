package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// takenAddress returns an address that somebody listens on.
func takenAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// A node that cannot start says why, and leaves nothing open: once the reason is gone,
// it comes further.
func TestNodeThatCannotStart(t *testing.T) {
	taken, quiet := takenAddress(t), slog.New(slog.DiscardHandler)
	start := func(dir, text string) error {
		t.Helper()
		n := emptyNode(t)
		n.Data, n.Listen, n.OpsListen = dir, "127.0.0.1:0", "127.0.0.1:0"
		path := filepath.Join(t.TempDir(), "tidemark.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n.readFile(path)
		if len(n.wrong) > 0 {
			t.Fatal(n.wrong)
		}
		err := n.start(t.Context())
		if stopped := n.stop(); stopped != nil {
			t.Errorf("the stop after %v: %v", err, stopped)
		}
		return err
	}

	f := func(dir, text, want string) {
		t.Helper()
		want = strings.ReplaceAll(want, "DIR", dir)
		if err := start(dir, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\nended with %v; want %s", text, err, want)
		}
		if err := start(dir, "listen = \""+taken+"\"\nops-listen = \"127.0.0.1:0\"\n"); err == nil {
			t.Error("a node listens where another listens")
		}
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f(file, "", "cannot make the data directory: mkdir DIR: not a directory")
	f(t.TempDir(), "ops-listen = \""+taken+"\"", "cannot listen: listen tcp "+taken+": bind: address already in use")
	f(t.TempDir(), "listen = \""+taken+"\"", "cannot listen: listen tcp "+taken+": bind: address already in use")
	f(t.TempDir(), "listen = \"unix:"+file+"\"", "cannot listen: listen unix "+file+": bind: address already in use")
	f(t.TempDir(), "listen = \"unix:"+file+"/s\"", "cannot listen: listen unix "+file+"/s: bind: not a directory")
	f(t.TempDir(), "[sim]\ndays = 3\npositions = 200\npools = 60\n[tls]\ncert = \"/none\"\nkey = \"/none\"",
		"cannot read the certificate: stat /none: no such file or directory")

	other := t.TempDir()
	store, err := storage.Open(filepath.Join(other, marketDir), storage.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	f(other, "", "")
	if err := store.SetIdentity([]storage.Pair{{Name: "feed", Value: "rpc"}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	f(other, "", "the data in DIR was made with feed rpc; the configuration says sim: ")
}

// A listener that cannot be opened leaves the other one closed, so that the next start
// finds both addresses free.
func TestListenersThatCannotBeOpened(t *testing.T) {
	taken := takenAddress(t)
	path := filepath.Join(t.TempDir(), "api.sock")
	n := emptyNode(t)
	n.Listen, n.OpsListen = unixPrefix+path, taken
	if _, _, err := n.openListeners(); err == nil {
		t.Fatal("an address that is taken was opened")
	}

	n.OpsListen = "127.0.0.1:0"
	api, ops, err := n.openListeners()
	if err != nil {
		t.Fatalf("after an address that was taken: %v", err)
	}
	api.Close()
	ops.Close()
}

// A node takes the sockets that a service manager opened, by their names, and says which
// names there are when one is not known.
func TestInheritedSockets(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file, err := socket.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	f := func(names string, count int, want string) {
		t.Helper()
		// Both addresses are taken, which ends the node once it has the sockets.
		cmd := exec.Command("sh", "-c", "LISTEN_PID=$$ exec tidemark serve --data "+t.TempDir()+"/data"+
			" --listen "+socket.Addr().String()+" --ops-listen "+taken.Addr().String())
		cmd.Env = append(os.Environ(), "LISTEN_FDNAMES="+names, fmt.Sprint("LISTEN_FDS=", count))
		for range count {
			cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s; want %s", names, err, out, want)
		}
	}

	f("web", 1, `cannot listen: the service manager passed 1 sockets named "web"; allowed are one named api and one named ops`)
	f("api:api", 2, `the service manager passed 2 sockets named "api"`)
	f("ops:ops", 2, `the service manager passed 2 sockets named "ops"`)
	f("api", 1, "cannot listen: listen tcp "+taken.Addr().String())
	f("ops", 1, "cannot listen: listen tcp "+socket.Addr().String())
}

// A configuration that is not there is refused by its name; so is one that is no file.
func TestConfigurationThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	_, err := loadConfig(filepath.Join(dir, "none.toml"), nil, nil)
	want := "cannot read the configuration: open " + dir + "/none.toml: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if _, err := loadConfig(dir, nil, nil); err == nil || !strings.HasPrefix(err.Error(), "cannot read the configuration: ") {
		t.Errorf("a directory: %v", err)
	}
}

// The chains that are built in have the addresses and the first block of the protocol on
// each; a wrong one would leave out what came before it.
func TestBuiltInChains(t *testing.T) {
	f := func(c *ChainConfig, id market.ChainID, start uint64, manager, positions, wrapped, tokens string) {
		t.Helper()
		if c.ID != id || c.StartBlock != start || !c.Enabled {
			t.Errorf("chain %d begins at block %d, enabled %t; want %d at %d", c.ID, c.StartBlock, c.Enabled, id, start)
		}
		got := []string{c.PoolManager.String(), c.PositionManager.String(), c.WrappedNative.String()}
		if want := []string{manager, positions, wrapped}; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("chain %d has the contracts %s; want %s", id, got, want)
		}

		decimals := ""
		for _, s := range c.Stables {
			decimals += s.String() + " "
		}
		decimals += strings.Join(c.Decimals, " ")
		if want := strings.Join(strings.Fields(tokens), " "); decimals != want {
			t.Errorf("chain %d has the tokens\n%s; want\n%s", id, decimals, want)
		}
		names := strings.Join([]string{
			c.Slug, c.Name, c.ShortName, c.ExplorerURL, c.NativeSymbol, c.NativeName, c.WrappedSymbol,
		}, ", ")
		want := map[market.ChainID]string{
			1:     "ethereum, Ethereum, ETH, https://etherscan.io, ETH, Ether, WETH",
			42161: "arbitrum, Arbitrum One, ARB, https://arbiscan.io, ETH, Ether, WETH",
			43114: "avalanche, Avalanche C-Chain, AVAX, https://snowtrace.io, AVAX, Avalanche, WAVAX",
		}[id]
		if names != want {
			t.Errorf("chain %d is named %s; want %s", id, names, want)
		}
		if c.MaxLogRange != 2000 || c.RangesInFlight != 12 || c.FetchAheadMib != 256 {
			t.Errorf("chain %d is read %d blocks at a time, %d ranges at once, %d MiB ahead",
				id, c.MaxLogRange, c.RangesInFlight, c.FetchAheadMib)
		}
	}

	list := defaultChains()
	if len(list) != 3 {
		t.Fatalf("%d chains are built in; want 3", len(list))
	}
	f(&list[0], 1, 21688329, "0x000000000004444c5dc75cb358380d2e3de08a90",
		"0xbd216513d74c8cf14cf4747e6aaa6420ff64ee9e", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", `
		0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48
		0xdac17f958d2ee523a2206206994597c13d831ec7
		0x6b175474e89094c44da98b954eedeac495271d0f
		0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48=6
		0xdac17f958d2ee523a2206206994597c13d831ec7=6
		0x6b175474e89094c44da98b954eedeac495271d0f=18
		0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2=18`)
	f(&list[1], 42161, 297842872, "0x360e68faccca8ca495c1b759fd9eee466db9fb32",
		"0xd88f38f930b7952f2db2432cb002e7abbf3dd869", "0x82af49447d8a07e3bd95bd0d56f35241523fbab1", `
		0xaf88d065e77c8cc2239327c5edb3a432268e5831
		0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9
		0xda10009cbd5d07dd0cecc66161fc93d7c9000da1
		0xaf88d065e77c8cc2239327c5edb3a432268e5831=6
		0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9=6
		0xda10009cbd5d07dd0cecc66161fc93d7c9000da1=18
		0x82af49447d8a07e3bd95bd0d56f35241523fbab1=18`)
	f(&list[2], 43114, 56195376, "0x06380c0e0912312b5150364b9dc4542ba0dbbc85",
		"0xb74b1f14d2754acfcbbe1a221023a5cf50ab8acd", "0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7", `
		0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e
		0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7
		0xd586e7f844cea2f87f50152665bcbc2c279d8d70
		0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e=6
		0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7=6
		0xd586e7f844cea2f87f50152665bcbc2c279d8d70=18
		0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7=18`)
}

// Prices are explained with the thresholds and the answers of their own chain.
func TestPricesOfAChain(t *testing.T) {
	n := emptyNode(t)
	n.answers = map[market.ChainID]func() []value.FeedPrice{}
	for i := range n.Chains {
		id := n.Chains[i].ID
		n.answers[id] = func() []value.FeedPrice { return []value.FeedPrice{{Usd: float64(id)}} }
	}

	for i := range n.Chains {
		c := &n.Chains[i]
		params, answers := n.chainPrices(c.ID)
		if params.WrappedNative != c.WrappedNative || params.Stables[0] != c.Stables[0] {
			t.Errorf("chain %d is priced with %s and %s", c.ID, params.WrappedNative, params.Stables[0])
		}
		if len(answers) != 1 || answers[0].Usd != float64(c.ID) {
			t.Errorf("chain %d has the answers %v", c.ID, answers)
		}
	}
}

// The API lists every chain with all of its names, and operators may switch those that
// are enabled.
func TestListedChains(t *testing.T) {
	n := emptyNode(t)
	n.Chains[1].Enabled = false
	if got, want := fmt.Sprint(n.enabledChains()), "[{1 Ethereum} {43114 Avalanche C-Chain}]"; got != want {
		t.Errorf("operators may switch %s; want %s", got, want)
	}

	list := n.listedChains()
	for i := range list {
		got, c := &list[i], &n.Chains[i]
		text := fmt.Sprint(got.ID, got.Slug, got.Name, got.ShortName, got.ExplorerURL, got.NativeSymbol,
			got.WrappedSymbol, got.WrappedNative, got.Enabled)
		if want := fmt.Sprint(c.ID, c.Slug, c.Name, c.ShortName, c.ExplorerURL, c.NativeSymbol,
			c.WrappedSymbol, c.WrappedNative, c.Enabled); text != want {
			t.Errorf("a chain is listed as %s; want %s", text, want)
		}
	}
	if len(list) != len(n.Chains) {
		t.Errorf("%d chains are listed; want %d", len(list), len(n.Chains))
	}
}
