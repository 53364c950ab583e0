package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"tidemark/bench/corpus"
)

// loaded is a Config and where each of its values comes from: a name maps to
// "default", "file FILE:LINE", "environment NAME" or "flag --NAME".
type loaded struct {
	Config
	origin  map[string]string
	ignored []string // TIDEMARK_ variables that are no settings
	// acceptLost is a flag alone: nobody accepts a loss in advance.
	acceptLost bool

	bench corpus.Options // of the bench suite's own node; zero for any other
}

// loadConfig layers defaults, the file (none when the path is empty), the
// environment and flags, and checks the whole.
func loadConfig(path string, environ []string, flags map[string]string) (*loaded, error) {
	l := &loaded{Config: defaultConfig(), origin: map[string]string{}}
	steps := []func() error{
		func() error { return l.file(path) },
		func() error { return l.environment(environ) },
		func() error { return l.flags(flags) },
		func() error { return l.check() },
	}

	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *loaded) settings() []setting { return settingsOf("", reflect.ValueOf(&l.Config).Elem()) }

// from says where a setting's value comes from.
func (l *loaded) from(name string) string {
	if origin, ok := l.origin[name]; ok {
		return origin
	}
	return "default"
}

func (l *loaded) file(path string) error {
	if path == "" {
		return nil
	}

	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w", err)
	}

	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%s:%d: %s", path, syntax.Position.Line, syntax.Message)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	f := &tomlFile{path: path, lines: keyLines(string(text)), into: l}
	return f.root(tree)
}

// environment sets what TIDEMARK_ variables say; an empty one says nothing. One
// that is no setting may be somebody else's, and is only told of.
func (l *loaded) environment(environ []string) error {
	byVariable := map[string]setting{}
	for _, s := range l.settings() {
		byVariable[s.variable()] = s
	}

	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, "TIDEMARK_") || text == "" {
			continue
		}
		s, ok := byVariable[variable]
		if !ok {
			l.ignored = append(l.ignored, variable)
			continue
		}
		if err := s.set(text); err != nil {
			return fmt.Errorf("environment %s: %w", variable, err)
		}
		l.origin[s.name] = "environment " + variable
	}

	return nil
}

// flags sets what the command line gave; an empty value is a flag not given.
func (l *loaded) flags(flags map[string]string) error {
	for _, s := range l.settings() {
		if text := flags[s.name]; text != "" {
			if err := s.set(text); err != nil {
				return fmt.Errorf("flag --%s: %w", s.name, err)
			}
			l.origin[s.name] = "flag --" + s.name
		}
	}
	return nil
}
