package torture

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// client is a connection that is kept and asks one request after another.
type client struct {
	address, key string
	conn         net.Conn
	in           *bufio.Reader
}

// reply is an answer with its body read.
type reply struct {
	status     int
	units      int64  // X-Units-Charged
	generation string // X-Generation
	body       []byte
	closed     bool // the node announced that it closes the connection
}

// askTimeout bounds an answer. Some wait for a node that was frozen for a minute.
const askTimeout = 90 * time.Second

func dial(address, key string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, askTimeout)
	if err != nil {
		return nil, err
	}
	return &client{address, key, conn, bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (c *client) close() { c.conn.Close() }

// send writes a request.
func (c *client) send(path string) error {
	if err := c.conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: x\r\nKC-APIKey: %s\r\n\r\n", path, c.key)
	return err
}

// receive reads the next answer. A body of 0 length is still a body.
func (c *client) receive() (r reply, err error) {
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	if r.body, err = io.ReadAll(answer.Body); err != nil {
		return r, fmt.Errorf("answer %d is cut: %w", answer.StatusCode, err)
	}

	r.status, r.closed = answer.StatusCode, answer.Close
	r.generation = answer.Header.Get("X-Generation")
	if units := answer.Header.Get("X-Units-Charged"); units != "" {
		r.units, err = strconv.ParseInt(units, 10, 64)
	}
	return r, err
}

// ask sends a request and reads its answer.
func (c *client) ask(path string) (reply, error) {
	if err := c.send(path); err != nil {
		return reply{}, err
	}
	return c.receive()
}
