package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenOnUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	first, err := listenOn(unixPrefix + path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenOn(unixPrefix + path); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a socket in use was taken: %v", err)
	}

	// What a killed node leaves behind is replaced.
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	second, err := listenOn(unixPrefix + path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != socketMode {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	if got := urlOf(second, false); got != unixPrefix+path {
		t.Errorf("its address is %s", got)
	}
}
