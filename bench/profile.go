package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"tidemark/bench/load"
)

// askProfiled is ask with a CPU profile of the node beside it, when profiles
// are wanted: NAME.pprof, of the last round.
func (s *suite) askProfiled(
	ctx context.Context, name string, cfg load.Config,
) (*load.Result, error) {
	if s.Profiles == "" || s.node.ops == "" {
		return s.ask(ctx, cfg)
	}
	done := make(chan error, 1)
	go func() { done <- s.profile(ctx, name) }()
	r, err := s.ask(ctx, cfg)
	if profileErr := <-done; err == nil {
		err = profileErr
	}
	return r, err
}

// profile takes as long as a measurement.
func (s *suite) profile(ctx context.Context, name string) error {
	seconds := max(1, int(s.Length.Seconds()))
	q, err := http.NewRequestWithContext(ctx, "GET",
		fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.node.ops, seconds), nil)
	if err != nil {
		return fmt.Errorf("cannot ask for a profile: %w", err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return fmt.Errorf("cannot take a profile: %w", err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err == nil {
		err = os.MkdirAll(s.Profiles, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Profiles, name+".pprof"), b, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot keep a profile: %w", err)
	}
	return nil
}
