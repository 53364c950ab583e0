package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tidemark/bench/report"
	"tidemark/storage"
)

// Record is the content of corpus.json.
type Record struct {
	Format  int     `json:"format"`
	Store   int     `json:"storeFormat"`
	Spec    Spec    `json:"spec"`
	Seconds float64 `json:"seconds"` // from the node's start until all was published
	Events  int64   `json:"events"`
	CPU     float64 `json:"cpuSeconds"` // of the node meanwhile

	Corpus report.Corpus `json:"corpus"`
	Shape  []ChainShape  `json:"chainShapes"`
}

const recordName = "corpus.json"

// recordFormat is raised when corpora or records become others: 2 has long
// histories, 3 is compacted, 4 has the report's summary.
const recordFormat = 4

// oldestStore is the oldest format of the store whose corpora are used as they are: a
// store in it has the same content, and is raised when a copy of it is opened.
const oldestStore = 7

// Errors of a directory without a corpus, and of one whose corpus another
// build made, in another format.
var (
	ErrNone = errors.New("no corpus")
	ErrOld  = errors.New("out-of-date corpus")
)

// DataDir is where the node of a corpus keeps its data.
func DataDir(dir string) string { return filepath.Join(dir, "node") }

// Read reads the record of a corpus; of one that is ErrOld, as much as there is.
func Read(dir string) (*Record, error) {
	path := filepath.Join(dir, recordName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s; tidemark bench corpus --out %s makes one", ErrNone, dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a corpus: %w", err)
	}

	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if r.Format != recordFormat || r.Store < oldestStore || r.Store > storage.Format {
		return r, fmt.Errorf("%w in %s: its format is %d on a store of format %d, "+
			"this build reads %d on %d to %d; tidemark bench corpus --reuse --positions %d --out %s makes it anew",
			ErrOld, dir, r.Format, r.Store, recordFormat, oldestStore, storage.Format, r.Spec.Positions, dir)
	}
	return r, nil
}

// Write writes the record: the last thing of a corpus that is complete.
func (r *Record) Write(dir string) error {
	r.Format, r.Store = recordFormat, storage.Format
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic("BUG: a record that cannot be encoded: " + err.Error())
	}
	if err := os.WriteFile(filepath.Join(dir, recordName), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot write the record of a corpus: %w", err)
	}
	return nil
}

// RemoveUnfinished removes the data of a corpus that was not finished. Data without the
// configuration of a corpus beside it is somebody else's.
func RemoveUnfinished(dir string) error {
	data := DataDir(dir)
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		return nil
	}

	config, _ := os.ReadFile(filepath.Join(dir, "node.toml")) // none: the data is of no corpus
	if title, _, _ := strings.Cut(nodeText, "\n"); !strings.HasPrefix(string(config), title) {
		return fmt.Errorf("%s is there, and is of no corpus", data)
	}
	return os.RemoveAll(data)
}

// Discard makes room for a corpus of a Spec: it removes one that was made from
// another Spec or by another build, and says why a new one is needed. An empty
// reason means that the corpus is there already.
func Discard(dir string, spec Spec) (why string, err error) {
	if err := spec.SetDefaults(); err != nil {
		return "", err
	}
	r, err := Read(dir)
	if r != nil {
		spec.Genesis = r.Spec.Genesis
	}

	switch {
	case errors.Is(err, ErrNone):
		return fmt.Sprintf("there is no corpus in %s yet", dir), nil
	case errors.Is(err, ErrOld):
		why = "is of an older format"
	case err != nil:
		return "", err
	case spec == r.Spec:
		return "", nil
	case spec.Positions != r.Spec.Positions:
		why = fmt.Sprintf("has %d positions, not %d,", r.Spec.Positions, spec.Positions)
	default:
		why = fmt.Sprintf("has %d positions of another kind", r.Spec.Positions)
	}

	// The record goes first: without it, what is left is no corpus.
	err = os.Remove(filepath.Join(dir, recordName))
	if err == nil {
		err = os.RemoveAll(DataDir(dir))
	}
	if err != nil {
		return "", fmt.Errorf("cannot remove the corpus in %s: %w", dir, err)
	}
	return fmt.Sprintf("the corpus in %s %s and is made anew", dir, why), nil
}
