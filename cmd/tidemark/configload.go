package main

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"tidemark/actors/feed/sim"
	"tidemark/edge"
)

// loaded is a Config and where each of its values comes from: a name maps to
// "default", "file FILE:LINE", "environment NAME" or "flag --NAME".
type loaded struct {
	Config
	file    string // the configuration file; empty: none
	origin  map[string]string
	tables  map[string]string // "chains 1" is the table of chain 1 in the file, as chains[0]
	ignored []string          // TIDEMARK_ variables that are no settings
	wrong   mistakes

	// acceptLost is a flag alone: nobody accepts a loss in advance.
	acceptLost bool
	// insecureCluster is one too: a cluster that may lose data is no setting.
	insecureCluster bool
	// moved: the data was taken from another stream than the one of the servers.
	moved bool
	// history identifies the cluster's stream, once a node has joined; empty without one.
	history string
	// reload loads the configuration again, from where it came.
	reload func() (*loaded, error)

	// feedClock is the clock of the feeds; nil: that of the system.
	feedClock func() time.Time

	// Of the bench suite's own node; zero for any other.
	workload    sim.Workload
	noPageCache bool
}

// mistakes are everything that is wrong with a configuration.
type mistakes []error

func (m mistakes) Error() string {
	if len(m) == 1 {
		return m[0].Error()
	}
	lines := make([]string, len(m))
	for i, err := range m {
		lines[i] = "\n  " + err.Error()
	}
	return fmt.Sprintf("%d mistakes in the configuration:%s", len(m), strings.Join(lines, ""))
}

// loadConfig layers defaults, the file (none when the path is empty), the
// environment and flags, and checks the whole. The error is of type mistakes.
// `serve` and `config check` both use it.
func loadConfig(path string, environ []string, flags map[string]string) (*loaded, error) {
	l := &loaded{
		Config: defaultConfig(), file: path, origin: map[string]string{}, tables: map[string]string{},
	}
	l.reload = func() (*loaded, error) { return loadConfig(path, environ, flags) }

	l.readFile(path)
	l.readEnvironment(environ)
	l.readFlags(flags)
	l.check()
	if len(l.wrong) > 0 {
		return nil, l.wrong
	}
	return l, nil
}

// refuse notes a mistake; nil is none.
func (l *loaded) refuse(err error) {
	if err != nil {
		l.wrong = append(l.wrong, err)
	}
}

func (l *loaded) settings() []setting { return settingsOf("", reflect.ValueOf(&l.Config).Elem()) }

// setting returns the setting of a name.
func (l *loaded) setting(name string) setting {
	for _, s := range l.settings() {
		if s.name == name {
			return s
		}
	}
	panic("BUG: no setting " + name)
}

// originOf says where a setting's value comes from.
func (l *loaded) originOf(name string) string { return cmp.Or(l.origin[name], "default") }

// placeOf begins a message on a setting: FILE:LINE, environment NAME or flag --NAME,
// and nothing for a default.
func (l *loaded) placeOf(name string) string {
	origin := strings.TrimPrefix(l.origin[name], "file ")
	if origin == "" {
		return ""
	}
	return origin + ": "
}

// placeInTable begins a message on a key of a table, such as ("chains", 1, "rpc"): the
// line of the key, else that of the innermost table around it.
func (l *loaded) placeInTable(list string, id any, key string) string {
	table := l.tables[fmt.Sprint(list, " ", id)]
	below, _, _ := strings.Cut(key, ".") // endpoints[0] of endpoints[0].url
	return cmp.Or(l.placeOf(table+"."+key), l.placeOf(table+"."+below), l.placeOf(table))
}

func (l *loaded) readFile(path string) {
	if path == "" {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		l.refuse(fmt.Errorf("cannot read the configuration: %w", err))
		return
	}

	if !utf8.Valid(text) {
		l.refuse(fmt.Errorf("%s is not a text in UTF-8", path))
		return
	}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		l.refuse(errSyntax(path, err))
		return
	}

	f := &tomlFile{path: path, lines: keyLines(string(text)), into: l}
	f.readRoot(tree)
}

// envPrefix begins the variables of the environment that are read.
const envPrefix = "TIDEMARK_"

// commandVariables are flags of commands that read no configuration.
var commandVariables = []string{"TIDEMARK_BENCH_KEY", "TIDEMARK_CHECK_KEY"}

// readEnvironment sets what TIDEMARK_ variables say; an empty one says nothing.
// One that is no setting may be somebody else's, and is only reported.
func (l *loaded) readEnvironment(environ []string) {
	byVariable := map[string]setting{}
	for _, s := range l.settings() {
		byVariable[s.variable()] = s
	}

	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, envPrefix) || text == "" || slices.Contains(commandVariables, variable) {
			continue
		}
		s, ok := byVariable[variable]
		if !ok {
			l.ignored = append(l.ignored, variable)
			continue
		}
		if err := s.set(text); err != nil {
			l.refuse(fmt.Errorf("environment %s: %w", variable, err))
			continue
		}
		l.origin[s.name] = "environment " + variable
	}
}

// readFlags sets what the command line gave; an empty value is a flag not given.
func (l *loaded) readFlags(flags map[string]string) {
	for _, s := range l.settings() {
		text := flags[s.name]
		if text == "" {
			continue
		}
		if err := s.set(text); err != nil {
			l.refuse(fmt.Errorf("flag --%s: %w", s.name, err))
			continue
		}
		l.origin[s.name] = "flag --" + s.name
	}
}

// strayVariable warns of a TIDEMARK_ variable that is no setting, and names the
// one that was probably meant.
func (l *loaded) strayVariable(variable string) string {
	text := fmt.Sprintf("environment %s is not a setting and has no effect", variable)
	nearest, least := "", len(strings.TrimPrefix(variable, envPrefix))/3
	for _, s := range l.settings() {
		if d := edge.EditDistance(variable, s.variable()); d <= least {
			nearest, least = s.variable(), d-1
		}
	}
	if nearest != "" {
		return text + "; did you mean " + nearest + "?"
	}
	return text + "; `tidemark config print` lists the settings"
}
