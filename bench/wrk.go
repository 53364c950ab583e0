package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"tidemark/bench/load"
)

// wrkRate is how wrk says what it measured.
var wrkRate = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// compareWithWrk asks the yardstick with wrk and with our own generator, and
// says how they stand to each other. Without wrk it says so.
func (s *suite) compareWithWrk(ctx context.Context) (string, error) {
	const size = 46_000 // a page of 20
	path, err := exec.LookPath("wrk")
	if err != nil {
		return "a raw TCP loop, in the tests; wrk is not installed", nil
	}
	limit, err := s.yardstick(ctx, size)
	if err != nil {
		return "", err
	}
	defer limit.Stop()
	seconds := max(1, int(s.Length.Seconds())/2)
	out, err := exec.CommandContext(ctx, path, "-t", strconv.Itoa(s.cores.workers()),
		"-c", strconv.Itoa(s.Connections), "-d", strconv.Itoa(seconds),
		"http://"+limit.Address+"/").Output()
	if err != nil {
		return "", fmt.Errorf("cannot run wrk: %w", err)
	}
	said := wrkRate.FindSubmatch(out)
	if said == nil {
		return "", fmt.Errorf("wrk did not say how much it asked: %.200s", out)
	}
	theirs, err := strconv.ParseFloat(string(said[1]), 64)
	if err != nil {
		return "", fmt.Errorf("wrk said %q: %w", said[1], err)
	}
	ours, err := s.load(ctx, load.Config{
		Addr: limit.Address, Mix: load.Mix{{Name: "constant", Weight: 1, Path: load.Fixed("/")}},
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"wrk in this run, asking the yardstick: ours %.2f times as fast (%.0f and %.0f/s)",
		ours.PerSecond()/theirs, ours.PerSecond(), theirs), nil
}
