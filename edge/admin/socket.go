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
	SocketName = "admin.sock"
	// maxSocketPath is a path length that every system accepts for a socket.
	maxSocketPath = 100
)

// listenPrivately creates the socket in a temporary directory that only this user
// can enter, sets its mode, and moves it to its place. So there is no moment at
// which another user could connect.
func listenPrivately(dir string) (net.Listener, error) {
	private, err := os.MkdirTemp(dir, "admin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	short, done, err := shortPath(private)
	if err != nil {
		return nil, err
	}
	defer done()

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s")})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it is renamed below; Stop removes it

	created := filepath.Join(private, "s")
	err = os.Chmod(created, 0o600)
	if err == nil {
		err = os.Rename(created, filepath.Join(dir, SocketName))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Dial connects to the node that runs on a data directory.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	short, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()

	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(short, SocketName))
}

// shortPath returns a path of a directory that is short enough for a socket's
// address. It is valid until done is called. For a long path it is the kernel's
// name for an open file descriptor of the directory.
func shortPath(dir string) (path string, done func(), err error) {
	if len(dir) <= maxSocketPath-len("/"+SocketName) {
		return dir, func() {}, nil
	}

	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { syscall.Close(fd) }, nil
}
