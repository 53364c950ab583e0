package cryo

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The datasets that are read.
const (
	logs         = "logs"
	blocks       = "blocks"
	transactions = "transactions"
	metadata     = "erc20_metadata"
)

// datasets are all of them, in the order in which what is missing is told.
var datasets = []string{logs, blocks, transactions, metadata}

// extensions are those of files that hold rows.
var extensions = []string{".parquet", ".json", ".ndjson", ".jsonl"}

// file is a file of one dataset.
type file struct {
	path        string
	first, last uint64 // the blocks that its name says
}

var rangePattern = regexp.MustCompile(`^(\d+)_to_(\d+)$`)

// findFiles lists the files of a directory by dataset, ascending by block.
func findFiles(dir string) (map[string][]file, error) {
	found := map[string][]file{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		extension := filepath.Ext(path)
		if err != nil || entry.IsDir() || !slices.Contains(extensions, extension) {
			return err
		}
		parts := strings.Split(strings.TrimSuffix(entry.Name(), extension), "__")
		i := slices.IndexFunc(parts, func(p string) bool { return slices.Contains(datasets, p) })
		if i < 0 {
			return nil // of another dataset
		}

		// A named pipe would wait for a writer, for ever.
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return errors.Join(err, fmt.Errorf("%s: it is no regular file", path))
		}

		f := file{path: path}
		ranged := false
		for _, part := range parts {
			if m := rangePattern.FindStringSubmatch(part); m != nil {
				first, err1 := strconv.ParseUint(m[1], 10, 63)
				last, err2 := strconv.ParseUint(m[2], 10, 63)
				if err := errors.Join(err1, err2); err != nil {
					return fmt.Errorf("%s: its name has no range of blocks: %w", path, err)
				}
				if last < first {
					return fmt.Errorf("%s: its name has no range of blocks: it ends before it begins", path)
				}
				f.first, f.last, ranged = first, last, true
			}
		}
		if !ranged && parts[i] != metadata {
			return fmt.Errorf("%s: its name has no range of blocks, such as 16000000_to_16000999", path)
		}
		found[parts[i]] = append(found[parts[i]], f)
		return nil
	})
	if err != nil {
		return nil, err
	}

	for _, list := range found {
		slices.SortFunc(list, func(a, b file) int {
			return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.path, b.path))
		})
	}
	return found, nil
}

// gaps lists the blocks from..to that no file has.
func gaps(files []file, from, to uint64) (list []string) {
	next := from
	for _, f := range files {
		if f.first > next && next <= to {
			list = append(list, fmt.Sprintf("%d to %d", next, min(f.first-1, to)))
		}
		next = max(next, f.last+1)
	}
	if next <= to {
		list = append(list, fmt.Sprintf("%d to %d", next, to))
	}
	return list
}
