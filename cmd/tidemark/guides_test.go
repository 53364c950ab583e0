package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/bench/process"
)

// guide is a document whose code blocks are run in the order in which they
// stand, in one directory, as a reader would:
//
//	sh     typed into a shell; what ends in "tidemark serve" stays running, and
//	       `make cluster` until the end of the document
//	json   an answer to the block before: the same fields, of the same kinds
//	toml   a configuration that the node accepts
//	go     a program; it ends well and says something
//
// Blocks of TypeScript are run by edge/ui/test/guides.test.mjs. A block without
// a language is a picture.
type guide struct {
	t      *testing.T
	dir    string // where the reader is
	root   string // of the repository, where it builds and Go programs find the client
	binary string
	env    []string
	key    string // what the reader has put into KEY
	api    string // the address of the node
	ops    string // of its metrics
	answer string // what the block before wrote
	leave  func() // ends the cluster of the document; nil: there is none
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// TestGuides runs every code block of the README and of the guides.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary as the README says")
	}
	t.Parallel() // it waits for nodes
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme := newGuide(t, t.TempDir(), root)
	readme.run("README.md", filepath.Join(root, "README.md"))

	// The guides follow one another, and the first starts the node of all.
	guides := newGuide(t, t.TempDir(), root)
	guides.binary = readme.binary
	guides.env = append(guides.env, "PATH="+readme.dir+":"+os.Getenv("PATH"), "BINARY="+readme.binary)
	for _, name := range []string{
		"start", "rankings", "paging", "stream", "flags", "prices", "units", "errors", "clients", "reference",
		"operating", "settings", "chains", "cluster", "trust",
	} {
		guides.run(name, filepath.Join(root, "edge/docs", name+".md"))
	}
	if files, _ := filepath.Glob(filepath.Join(root, "edge/docs/*.md")); len(files) != 15 {
		t.Errorf("there are %d guides", len(files))
	}
}

func newGuide(t *testing.T, dir, root string) *guide {
	g := &guide{t: t, dir: dir, root: root, api: spareAddress(t), ops: spareAddress(t)}
	g.binary = filepath.Join(dir, "tidemark")
	g.env = append(os.Environ(), smallMarket...)
	g.env = append(g.env, "TIDEMARK_LISTEN="+g.api, "TIDEMARK_OPS_LISTEN="+g.ops, "BINARY="+g.binary)
	return g
}

func spareAddress(t *testing.T) string {
	t.Helper()
	address, err := process.SparePort()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// run runs the blocks of one document.
func (g *guide) run(name, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}

	blocks := fence.FindAllStringSubmatch(string(text), -1)
	for i, block := range blocks {
		language, code := block[1], g.local(block[2])
		at := fmt.Sprintf("%s, block %d:\n%s", name, i+1, code)
		switch language {
		case "sh":
			refused := i+1 < len(blocks) && strings.HasPrefix(blocks[i+1][2], `{ "error"`)
			g.shell(at, code, refused)
		case "json":
			g.holdAnswer(at, code)
		case "toml":
			g.checkConfig(at, code)
		case "go":
			g.program(at, code)
		case "", "ts":
		default:
			g.t.Errorf("%s\nis in %s, which nothing runs", at, language)
		}
	}
	if g.leave != nil {
		g.leave()
	}
}

// local puts the node's real addresses in place of the documented ones.
func (g *guide) local(code string) string {
	return strings.NewReplacer("127.0.0.1:8080", g.api, "127.0.0.1:8081", g.ops).Replace(code)
}

// shell types a block. A request that fails ends it, unless the document shows
// the refusal.
func (g *guide) shell(at, code string, refused bool) {
	if strings.HasSuffix(strings.TrimSpace(code), "tidemark serve") {
		g.serve(at, code)
		return
	}
	if strings.TrimSpace(code) == "make cluster" {
		g.cluster(at, code)
		return
	}

	const strict = "curl() { command curl -sS --fail-with-body \"$@\"; echo; }\n"
	const lenient = "curl() { command curl -sS \"$@\"; echo; }\n"
	prelude := strict
	if refused {
		prelude = lenient
	}

	ctx, cancel := context.WithTimeout(g.t.Context(), guideTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", prelude+code)
	cmd.Dir, cmd.Env = g.dir, append(g.env, "KEY="+g.key)
	if strings.HasPrefix(code, "make ") {
		cmd.Dir = g.root // where BINARY puts what it builds apart from what is there
	}

	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s\n%v\n%s", at, err, out)
	}
	g.answer = string(out)
	if strings.Contains(code, "export KEY=") {
		g.key = keyPattern.FindString(g.answer) // which the block shows
	}
}

const guideTimeout = 4 * time.Minute // of one block: the first builds the binary

// serve starts the node of a document, and ends it with the test.
func (g *guide) serve(at, code string) {
	cmd := exec.Command("bash", "-c", "exec "+code)
	var said process.Output
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.dir, g.env, &said, &said
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})

	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		status, body, err := request("http://"+g.api+"/health", "")
		if err == nil && status == 200 && !strings.Contains(body, `"generation":null`) {
			return
		}
	}

	g.t.Fatalf("%s\ndoes not serve: %s", at, said.String())
}

var keyPattern = regexp.MustCompile(`tm_srv_[0-9A-Za-z]{36}`)

// holdAnswer compares a documented answer with the last that came: it may be
// shorter, and its values others.
func (g *guide) holdAnswer(at, code string) {
	var want, got any
	if err := json.Unmarshal([]byte(code), &want); err != nil {
		g.t.Errorf("%s\n%v", at, err)
		return
	}

	lines := strings.Split(strings.TrimSpace(g.answer), "\n") // each answer is one
	if json.Unmarshal([]byte(lines[len(lines)-1]), &got) != nil {
		g.t.Errorf("%s\nthe block before did not answer with JSON: %s", at, g.answer)
		return
	}
	if err := alike("answer", want, got); err != nil {
		g.t.Errorf("%s\n%v", at, err)
	}
}

// alike reports where a documented value is of another kind than a real one. A
// number may be unknown, so null is like anything.
func alike(name string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object: %v", name, got)
		}
		for key := range w {
			value, ok := g[key]
			if !ok {
				return fmt.Errorf("%s has no %s", name, key)
			}
			if err := alike(name+"."+key, w[key], value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) > 0 && len(g) == 0 {
			return fmt.Errorf("%s is no list, or empty: %v", name, got)
		}
		if len(w) > 0 {
			return alike(name+"[0]", w[0], g[0])
		}
		return nil
	}

	if want != nil && got != nil && fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
		return fmt.Errorf("%s is %v; the document has %v", name, got, want)
	}

	return nil
}

func (g *guide) checkConfig(at, code string) {
	file := filepath.Join(g.t.TempDir(), "tidemark.toml")
	if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.Command(g.binary, "config", "check", "--config", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Errorf("%s\n%v\n%s", at, err, out)
	}
}

func (g *guide) program(at, code string) {
	file := filepath.Join(g.t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.Command("go", "run", file)
	cmd.Dir, cmd.Env = g.root, append(g.env, "KEY="+g.key)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
		g.t.Errorf("%s\n%v\n%s", at, err, out)
	}
}
