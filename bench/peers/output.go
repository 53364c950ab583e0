package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tidemark/bench/report"
)

// write keeps a run as NDJSON: one object a line, the kind of each beside it.
// bench.ReadPeers reads it.
func write(path string, run *report.Peers) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head := *run
	head.Results = nil
	lines := []any{struct {
		Kind  string        `json:"kind"`
		Peers *report.Peers `json:"peers"`
	}{"peers", &head}}
	for i := range run.Results {
		lines = append(lines, struct {
			Kind string       `json:"kind"`
			Peer *report.Peer `json:"peer"`
		}{"peer", &run.Results[i]})
	}
	out := json.NewEncoder(file)
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
	}
	return nil
}

// table prints a run: the node beside each peer.
func table(w io.Writer, run *report.Peers) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tquestion\tpeer\tnode/s\tpeer/s\tnode CPU\tpeer CPU\tpeer : node CPU\tbody\t")
	for i := range run.Results {
		p := &run.Results[i]
		fmt.Fprintf(t, "%d\t%s\t%s %s\t", p.Row, p.Question, p.Peer, p.Version)
		switch {
		case p.Why != "":
			fmt.Fprintf(t, "%.60s\t\t\t\t\t\t\n", firstLine(p.Why))
		case p.Question == refreshName:
			fmt.Fprintf(t, "\t\t%.3f s\t%.3f s\t%.2f x\t\t\n", p.Node.CPUMicros/1e6, p.Other.CPUMicros/1e6, p.RatioCPU)
		default:
			fmt.Fprintf(t, "%.0f\t%.0f\t%.1f µs\t%.1f µs\t%.2f x\t%d\t\n", p.Node.PerSecond, p.Other.PerSecond,
				p.Node.CPUMicros, p.Other.CPUMicros, p.RatioCPU, p.Other.BodyBytes)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print a table: %w", err)
	}
	_, err := fmt.Fprintf(w, "\n%d positions; %s; no page cache anywhere; the node also checks keys, "+
		"limits and meters\n", run.Positions, run.Pinned)
	return err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// processorName is the model of the machine's processor.
func processorName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	_, after, _ := bytes.Cut(b, []byte("model name"))
	line, _, _ := bytes.Cut(after, []byte{'\n'})
	return strings.TrimLeft(string(line), "\t: ")
}
