package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/archive"
	"tidemark/rankings/market"
)

// archiveDir has a directory for each chain's archive.
const archiveDir = "archive"

// checkArchive refuses an archive that has no room for two segments.
func (l *loaded) checkArchive() error {
	if n := l.ArchiveMaxBytes; n > 0 && n < 2*l.ArchiveSegmentBytes {
		return fmt.Errorf("%sarchive-max-bytes is %d; allowed is 0, or %d or more: two segments",
			l.placeOf("archive-max-bytes"), n, 2*l.ArchiveSegmentBytes)
	}
	return nil
}

// archivePath is where the archive of a chain is.
func archivePath(data string, chain market.ChainID) string {
	return filepath.Join(data, archiveDir, strconv.FormatUint(uint64(chain), 10))
}

// archiveConfig is that of a chain's archive.
func (l *loaded) archiveConfig(c *ChainConfig) archive.Config {
	return archive.Config{
		Identity: archive.Identity{
			Chain: c.ID, PoolManager: c.PoolManager, PositionManager: c.PositionManager,
			Start: max(c.StartBlock, 1),
		},
		Dir:          archivePath(l.Data, c.ID),
		SegmentBytes: int64(l.ArchiveSegmentBytes), MaxBytes: int64(l.ArchiveMaxBytes),
	}
}

// keepsArchives reports whether chains have archives. A simulated market has none, because
// it is computed from its seed.
func (l *loaded) keepsArchives() bool { return l.Archive && l.Feed != "sim" }

// openArchive opens the archive of a chain; nil: it has none.
func (l *loaded) openArchive(
	c *ChainConfig, full func() bool, set *metrics.Set, log *slog.Logger,
) (*archive.Archive, error) {
	if !l.keepsArchives() {
		return nil, nil
	}
	config := l.archiveConfig(c)
	config.Full, config.Metrics, config.Log = full, set, log
	a, err := archive.Open(config)
	if err != nil {
		return nil, err
	}

	st := a.Status()
	if st.Head.Number == 0 {
		log.Info("the archive is empty", "chain", c.ID)
		return a, nil
	}
	log.Info("archive opened", "chain", c.ID, "from", st.Base.Number+1, "to", st.Head.Number, "events", st.Events,
		"bytes", st.Bytes, "whole", st.Whole(c.StartBlock))
	for _, hole := range st.Holes {
		log.Warn("the archive lacks blocks; they are fetched at the head", "chain", c.ID, "blocks", hole.String())
	}
	return a, nil
}

// hasArchives reports whether every chain can be built from its archive.
func (l *loaded) hasArchives() bool {
	if !l.keepsArchives() {
		return false
	}
	for i := range l.Chains {
		c := &l.Chains[i]
		if !c.Enabled {
			continue
		}
		config := l.archiveConfig(c)
		config.ReadOnly = true
		a, err := archive.Open(config)
		if err != nil {
			return false
		}
		st := a.Status()
		if a.Close() != nil || !st.Whole(c.StartBlock) {
			return false
		}
	}

	return true
}

// checkArchives returns what is wrong with the archives in a data directory.
func checkArchives(data string) (findings []string, err error) {
	dirs, err := os.ReadDir(filepath.Join(data, archiveDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	for _, dir := range dirs {
		list, err := findingsOf(filepath.Join(data, archiveDir, dir.Name()))
		if err != nil {
			list = append(list, err.Error())
		}
		for _, line := range list {
			findings = append(findings, fmt.Sprintf("%s: %s", filepath.Join(archiveDir, dir.Name()), line))
		}
	}
	return findings, nil
}

// findingsOf checks the archive in a directory.
func findingsOf(dir string) (findings []string, err error) {
	id, err := archive.Find(dir)
	if errors.Is(err, archive.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	a, err := archive.Open(archive.Config{Identity: id, Dir: dir, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	findings, err = a.Check()
	return findings, errors.Join(err, a.Close())
}

// chainOf returns a chain of the configuration.
func (l *loaded) chainOf(id market.ChainID) (*ChainConfig, error) {
	for i := range l.Chains {
		if l.Chains[i].ID == id {
			return &l.Chains[i], nil
		}
	}
	return nil, fmt.Errorf("chain %d is not in the configuration; give it with --config FILE", id)
}
