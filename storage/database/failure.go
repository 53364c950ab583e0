package database

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// NewLogger returns Pebble's log. Pebble cannot recover from a fatal error inside the
// process, and continuing could serve or store wrong data. So exit ends the process, and
// the next start reads what is on the disk.
func NewLogger(log *slog.Logger, exit func()) pebble.Logger { return &crashLogger{log, exit} }

type crashLogger struct {
	log  *slog.Logger
	exit func()
}

// Infof drops the lines that Pebble writes for every flush and compaction.
func (l *crashLogger) Infof(string, ...any) {}

func (l *crashLogger) Errorf(format string, args ...any) {
	l.log.Error("store: " + fmt.Sprintf(format, args...))
}

func (l *crashLogger) Fatalf(format string, args ...any) {
	l.log.Error("store failed, stopping the process: " + fmt.Sprintf(format, args...))
	l.exit()
	panic("BUG: Options.Exit returned")
}

// maxOpeningFailures bounds how often background work may fail while a database is opened.
// One failure may be over at the next attempt.
const maxOpeningFailures = 5

// Opening counts failures of background work while Pebble opens a database. Pebble flushes
// the log that it has read, and on a full disk tries that for ever, without a pause. The
// zero value has begun.
type Opening struct {
	done     atomic.Bool
	failures atomic.Int32
}

// Begin is called before a database is opened again.
func (o *Opening) Begin() {
	o.done.Store(false)
	o.failures.Store(0)
}

// End is called once the database is open, or is not.
func (o *Opening) End() { o.done.Store(true) }

// Failed counts a failure, and ends the process at the last one that is allowed.
func (o *Opening) Failed(err error, log pebble.Logger) {
	if !o.done.Load() && o.failures.Add(1) == maxOpeningFailures {
		log.Fatalf("it cannot be opened: %v", err)
	}
}
