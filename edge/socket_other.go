//go:build !linux || race

package edge

import "net"

// socket is not used here; see socket_linux.go.
type socket struct{ net.Conn }

const maxRaw = 0

func newSocket(net.Conn) *socket { return nil }

func (s *socket) Write(head, _ []byte) (int, error) { return s.Conn.Write(head) }
