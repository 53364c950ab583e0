package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"tidemark/edge/admin"
)

// AdminFlags are the flags of every command that talks to a running node.
type AdminFlags struct {
	Data string `help:"Directory of the node." default:"./data" env:"TIDEMARK_DATA" type:"data" placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// readData reads the directory of a node from a flag or a variable. An empty one is not given,
// as for serve: it would be the working directory.
func readData(from *kong.DecodeContext, to reflect.Value) error {
	var dir string
	if err := from.Scan.PopValueInto("string", &dir); err != nil {
		return err
	}
	to.SetString(cmp.Or(dir, os.Getenv("TIDEMARK_DATA"), defaultConfig().Data))
	return nil
}

// adminTimeout is longer than anything the node does while it is asked; a
// checkpoint of a large store on a slow disk is the longest.
const adminTimeout = 10 * time.Minute

// maxAdminAnswer bounds what a node answers: 100,000 keys, generously.
const maxAdminAnswer = 256 << 20

// client talks to the node on a data directory.
type client struct {
	dir  string
	http http.Client
}

// adminClient makes a client. Nothing is opened until it is used.
func adminClient(dir string) *client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return admin.Dial(ctx, dir)
	}
	return &client{dir, http.Client{
		Timeout: adminTimeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}}
}

// do sends a request, with body as JSON unless it is nil, and returns the
// answer. What the node refuses is an error with the node's message.
func (c *client) do(method, at string, body any) ([]byte, error) {
	if err := checkNames(at); err != nil {
		return nil, err
	}
	sent, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("BUG: cannot encode %T: %v", body, err))
	}
	q, err := http.NewRequest(method, "http://admin"+at, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}

	r, err := c.http.Do(q)
	if err != nil {
		return nil, errUnasked(c.dir, err)
	}

	defer r.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(r.Body, maxAdminAnswer))
	if err != nil {
		return nil, c.errAnswer(err)
	}
	if r.StatusCode == http.StatusOK {
		return answer, nil
	}

	var refusal struct{ Error string }
	if json.Unmarshal(answer, &refusal) != nil || refusal.Error == "" {
		return nil, fmt.Errorf("the node on %s answered %s", c.dir, r.Status)
	}
	return nil, errors.New(refusal.Error)
}

// decode reads the answer that do returned.
func (c *client) decode(answer []byte, v any) error {
	if err := json.Unmarshal(answer, v); err != nil {
		return c.errAnswer(err)
	}
	return nil
}

// errAnswer is the error of an answer that cannot be read.
func (c *client) errAnswer(err error) error {
	return fmt.Errorf("cannot read the answer of the node on %s: %w", c.dir, err)
}

// checkNames refuses a path with a name that a server would leave out of it, such as that of a
// variable of the shell which is not set.
func checkNames(at string) error {
	at, _, _ = strings.Cut(at, "?")
	for segment := range strings.SplitSeq(at[1:], "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || path.Clean("/"+name) == "/" {
			return fmt.Errorf("%q is no name of an account or a key", name)
		}
	}
	return nil
}

// errUnasked says why the node on a directory could not be asked, and what to do.
func errUnasked(dir string, err error) error {
	var unreachable *net.OpError
	switch {
	case errors.Is(err, os.ErrPermission): // a node may well be running
		return fmt.Errorf("cannot reach a node on %s: permission denied; "+
			"run this as the user that the node runs as", dir)
	case errors.As(err, &unreachable) && unreachable.Op == "dial", errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("cannot reach a node on %s; start it with tidemark serve --data %s", dir, shellWord(dir))
	default:
		return fmt.Errorf("cannot ask the node on %s: %w", dir, err)
	}
}

// ask does one request and prints the answer: as it came with --json, else
// through show, which gets it decoded.
func ask[T any](f *AdminFlags, method, path string, body any, show func(io.Writer, *T)) error {
	node := adminClient(f.Data)
	answer, err := node.do(method, path, body)
	if err != nil {
		return err
	}

	if f.JSON {
		var out bytes.Buffer
		if err := json.Indent(&out, answer, "", "  "); err != nil {
			return node.errAnswer(err)
		}
		_, err := os.Stdout.Write(out.Bytes())
		return err
	}

	var v T
	if err := node.decode(answer, &v); err != nil {
		return err
	}

	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	show(w, &v)
	return w.Flush()
}

// printJSON prints what a command found for programs.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// writeRow prints the cells of a table's row.
func writeRow(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, c)
	}
	fmt.Fprintln(w)
}

// orDash is what stands for nothing in a table.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return *s
}
