package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/valyala/fasthttp"

	"tidemark/bench/process"
	"tidemark/bench/report"
)

// cli is the command line; `tidemark bench peers` writes it.
type cli struct {
	Peer   string `help:"PostgreSQL, Redis or SQLite." enum:"PostgreSQL,Redis,SQLite" required:""`
	Corpus string `help:"Corpus to serve." required:"" placeholder:"DIR"`
	Data   string `help:"Directory for the database, removed at the end." required:"" placeholder:"DIR"`
	Keys   string `help:"File of the API keys to check, one a line." required:"" placeholder:"FILE"`
	Listen string `help:"Where to answer." required:"" placeholder:"ADDR"`
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("peers"), kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	k.FatalIfErrorf(c.serve(ctx))
}

// databases open an empty database in a directory, by name.
var databases = map[string]func(ctx context.Context, dir string) (peer, error){
	"PostgreSQL": openPostgres, "Redis": openRedis, "SQLite": openSQLite,
}

// errMissing is why a database cannot take part.
func errMissing(name, debian string) error {
	return fmt.Errorf("%s is not installed; apt-get install %s", name, debian)
}

// peer is a database. It answers questions after it has loaded a corpus.
type peer interface {
	about() (version string, server *process.Child) // nil: it is in this process
	load(ctx context.Context, c *corpus, w *clock) error
	answer(out *page, q *asked) error
	close() error
}

// errCannot is a peer's answer to a question that it has no means for.
var errCannot = errors.New(report.Cannot)

// serve starts the database, loads it, and answers until it is told to stop.
func (c *cli) serve(ctx context.Context) (err error) {
	book, err := readBook(c.Keys)
	if err != nil {
		return err
	}
	p, err := databases[c.Peer](ctx, c.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	rows, err := readCorpus(ctx, c.Corpus)
	if err != nil {
		return err
	}

	version, database := p.about()
	w := startClock(database)
	if err := p.load(ctx, rows, w); err != nil {
		return err
	}
	about, err := json.Marshal(report.Scenario{
		Name: c.Peer + ": refresh", What: "everything is loaded into an empty database",
		Peer: c.Peer, Comparison: c.Peer + " " + version,
		Limit: &report.Measure{ServerMicros: float64(w.spent().Microseconds())},
	})
	if err != nil {
		return err
	}

	f := &front{p, rows.parser(), about, book}
	server := &fasthttp.Server{ // as the node has it, with room for a response in one write
		Handler: f.handle, ReadBufferSize: 8 << 10, WriteBufferSize: 128 << 10,
		NoDefaultServerHeader: true, SecureErrorLogMessage: true, CloseOnShutdown: true,
	}
	context.AfterFunc(ctx, func() { _ = server.Shutdown() })
	return server.ListenAndServe(c.Listen)
}

// startServer starts a database server of our own on the cores of this process.
func startServer(cmd *exec.Cmd, dir string) (*process.Child, error) {
	cores, err := process.Split(false)
	if err != nil {
		return nil, err
	}
	return process.Start(cores, cmd, filepath.Join(dir, "server.log"))
}
