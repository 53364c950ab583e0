package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

const (
	socketName = "admin.sock"
	// maxSocketPath is what every system takes in a socket's address.
	maxSocketPath = 100
)

// listenPrivately makes the socket in a directory that only we can enter,
// narrows its mode, and moves it to its place: nobody else can connect to it
// at any moment.
func listenPrivately(dir string) (net.Listener, error) {
	nest, err := os.MkdirTemp(dir, "admin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(nest)
	short, done, err := shortPath(nest)
	if err != nil {
		return nil, err
	}
	defer done()

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // its name moves; Stop removes it

	made := filepath.Join(nest, "s")
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, filepath.Join(dir, socketName))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Dial connects to the node on a data directory.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	short, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(short, socketName))
}

// shortPath returns a name of a directory that is short enough for a socket's
// address, valid until done is called: itself, or the kernel's name for an
// open file.
func shortPath(dir string) (path string, done func(), err error) {
	if len(dir) <= maxSocketPath-len("/"+socketName) {
		return dir, func() {}, nil
	}
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { syscall.Close(fd) }, nil
}
