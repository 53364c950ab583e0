package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Discard makes room for a corpus of a Spec: it removes one that was made from
// another Spec or by another build, and says why there has to be a new one.
// Nothing said: there is the very corpus.
func Discard(dir string, spec Spec) (why string, err error) {
	if err := spec.Fill(); err != nil {
		return "", err
	}
	r, err := Read(dir)
	switch {
	case errors.Is(err, ErrNone):
		return fmt.Sprintf("there is no corpus in %s yet", dir), nil
	case errors.Is(err, ErrOld):
		why = fmt.Sprintf("the corpus in %s is of an older format and made anew", dir)
	case err != nil:
		return "", err
	default:
		spec.Genesis = r.Spec.Genesis
		if spec == r.Spec {
			return "", nil
		}
		why = fmt.Sprintf("the corpus in %s has %d positions of another kind and is made anew",
			dir, r.Spec.Positions)
		if r.Spec.Positions != spec.Positions {
			why = fmt.Sprintf("the corpus in %s has %d positions, not %d, and is made anew",
				dir, r.Spec.Positions, spec.Positions)
		}
	}
	err = os.Remove(filepath.Join(dir, recordName)) // first, so that the rest is no corpus
	if err == nil {
		err = os.RemoveAll(DataDir(dir))
	}
	if err != nil {
		return "", fmt.Errorf("cannot remove the corpus in %s: %w", dir, err)
	}
	return why, nil
}
