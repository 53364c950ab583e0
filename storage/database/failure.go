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

// opening counts failures of background work while Pebble opens a database. Pebble flushes
// the log that it has read, and on a full disk tries that for ever, without a pause.
type opening struct {
	done     atomic.Bool
	failures atomic.Int32
}

// Open opens a database. If its background work fails again and again meanwhile, that
// ends the process. The listener of the options is told of each failure first.
func Open(dir string, p *pebble.Options) (*pebble.DB, error) {
	var o opening
	tell := p.EventListener.BackgroundError
	p.EventListener.BackgroundError = func(err error) {
		tell(err)
		if !pebble.IsCorruptionError(err) {
			o.countFailure(err, p.Logger)
		}
	}

	db, err := pebble.Open(dir, p)
	o.done.Store(true)
	return db, err
}

// countFailure counts a failure, and ends the process at the last one that is allowed.
func (o *opening) countFailure(err error, log pebble.Logger) {
	if !o.done.Load() && o.failures.Add(1) == maxOpeningFailures {
		log.Fatalf("it cannot be opened: %v", err)
	}
}
