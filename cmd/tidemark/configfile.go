package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"tidemark/storage/accounts"
)

// tomlFile spreads a decoded file over a Config; its errors name file, line
// and what is allowed.
type tomlFile struct {
	path  string
	lines map[string]int // of each key, as keyLines names them
	into  *loaded
}

func (f *tomlFile) errorf(key, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", f.path, f.line(key), fmt.Sprintf(format, args...))
}

// line returns the line of a key. A key within an inline table has none of its
// own: it stands where the innermost table begins that has one.
func (f *tomlFile) line(key string) int {
	for {
		if n, ok := f.lines[key]; ok {
			return n
		}

		outer := strings.LastIndexAny(key, ".[")
		if outer < 0 {
			return 1
		}
		key = key[:outer]
	}
}

// errSyntax is the error of a file that does not parse. If a value is at fault, such as a
// number beyond 64 bits, it names the key and what is allowed.
func errSyntax(path string, err error) error {
	var syntax toml.ParseError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w", path, err)
	}

	if strings.Contains(syntax.Message, "already been defined") {
		_, key, _ := strings.Cut(syntax.Message, "'") // LastKey is of the line before, if a table is at fault
		key, _, _ = strings.Cut(key, "'")
		return fmt.Errorf("%s:%d: %s is given twice", path, syntax.Position.Line, cmp.Or(key, syntax.LastKey))
	}
	message := syntax.Message
	for _, s := range knownKeys() {
		if s.name == syntax.LastKey {
			message = fmt.Sprintf("%s: %s; %s", s.name, message, s.allowed())
		}
	}
	return fmt.Errorf("%s:%d: %s", path, syntax.Position.Line, message)
}

// knownKeys lists the settings, and the keys of tables by names such as chains.rpc.
func knownKeys() []setting {
	return slices.Concat(
		settingsOf("", reflect.ValueOf(&Config{}).Elem()),
		settingsOf("chains.", reflect.ValueOf(&ChainConfig{}).Elem()),
		settingsOf("chains.endpoints.", reflect.ValueOf(&EndpointConfig{}).Elem()),
		settingsOf("plans.", reflect.ValueOf(&accounts.Plan{}).Elem()),
	)
}

// refuse notes a mistake in the file.
func (f *tomlFile) refuse(key, format string, args ...any) {
	f.into.refuse(f.errorf(key, format, args...))
}

func (f *tomlFile) readRoot(tree map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		switch key {
		case "chains":
			mergeTables(f, key, tree[key], &f.into.Chains, newChain)
		case "plans":
			mergeTables(f, key, tree[key], &f.into.Plans, newPlan)
		default:
			f.readTable("", map[string]any{key: tree[key]}, f.into.settings())
		}
	}
}

// readTable sets every key of a table, descending into tables below it.
func (f *tomlFile) readTable(prefix string, table map[string]any, settings []setting) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		name := prefix + key
		if strings.Contains(key, ".") { // in quotes: one key, and not one of a table below
			f.refuse(name, "unknown key %s%q; known are %s", prefix, key, listSiblings(settings, prefix))
			continue
		}
		if hasPrefix(settings, name+".") {
			below, ok := table[key].(map[string]any)
			if !ok {
				f.refuse(name, "%s is not a table; its settings stand below a line [%s]", name, name)
				continue
			}
			f.readTable(name+".", below, settings)
			continue
		}

		i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
		if i < 0 {
			f.refuse(name, "unknown key %s; known are %s", name, listSiblings(settings, prefix))
			continue
		}
		if err := settings[i].set(table[key]); err != nil {
			f.refuse(name, "%s", err)
			continue
		}
		f.noteOrigin(name)
	}
}

// noteOrigin notes that a name is set by the file.
func (f *tomlFile) noteOrigin(name string) {
	f.into.origin[name] = fmt.Sprintf("file %s:%d", f.path, f.line(name))
}

// mergeTables lays an array of tables over a list: a table with the id of an
// entry changes that entry, any other is appended.
func mergeTables[T any](f *tomlFile, key string, raw any, list *[]T, blank func() T) {
	tables, ok := tablesOf(raw)
	if !ok {
		f.refuse(key, "%s is not an array of tables; write [[%s]]", key, key)
		return
	}

	for n, table := range tables {
		name := fmt.Sprintf("%s[%d]", key, n)
		id, ok := table["id"]
		if !ok {
			f.refuse(name, "an entry of [[%s]] has no id", key)
			continue
		}
		probe := blank()
		probed := settingsOf(name+".", reflect.ValueOf(&probe).Elem())
		if err := probed[0].set(id); err != nil {
			f.refuse(name+".id", "%s", err)
			continue
		}

		entry := fmt.Sprint(key, " ", id)
		if earlier, ok := f.into.tables[entry]; ok {
			f.refuse(name, "the id %v is that of the entry in line %d too; give each id once", id, f.line(earlier))
			continue
		}
		f.into.tables[entry] = name
		f.noteOrigin(name)

		i := slices.IndexFunc(*list, func(have T) bool {
			return reflect.ValueOf(have).Field(0).Equal(reflect.ValueOf(probe).Field(0))
		})
		if i < 0 {
			i = len(*list)
			*list = append(*list, probe)
		}
		f.readEntry(name+".", table, reflect.ValueOf(&(*list)[i]).Elem())
	}
}

// readEntry sets an entry of an array of tables, and the arrays of tables within
// it, as [[chains.endpoints]]. An array in the file replaces what was there.
func (f *tomlFile) readEntry(prefix string, table map[string]any, entry reflect.Value) {
	rest := maps.Clone(table)
	for i := range entry.NumField() {
		list := entry.Field(i)
		key := settingName(entry.Type().Field(i).Name)
		raw, given := table[key]
		if !given || !isArrayOfTables(list) {
			continue
		}
		delete(rest, key)
		tables, ok := tablesOf(raw)
		if !ok {
			f.refuse(prefix+key, "%s%s is not an array of tables", prefix, key)
			continue
		}

		made := reflect.MakeSlice(list.Type(), len(tables), len(tables))
		for n, table := range tables {
			within := fmt.Sprintf("%s%s[%d]", prefix, key, n)
			f.noteOrigin(within)
			f.readTable(within+".", table, settingsOf(within+".", made.Index(n)))
		}
		list.Set(made)
	}
	f.readTable(prefix, rest, settingsOf(prefix, entry))
}

// tablesOf returns an array of tables, whether it was written as [[name]] or
// inline as name = [{ … }].
func tablesOf(raw any) (tables []map[string]any, ok bool) {
	if tables, ok := raw.([]map[string]any); ok {
		return tables, true
	}

	list, ok := raw.([]any)
	for _, item := range list {
		table, isTable := item.(map[string]any)
		if !isTable {
			return nil, false
		}
		tables = append(tables, table)
	}
	return tables, ok
}

func hasPrefix(settings []setting, prefix string) bool {
	return slices.ContainsFunc(settings, func(s setting) bool { return strings.HasPrefix(s.name, prefix) })
}

// listSiblings lists the keys that a table knows.
func listSiblings(settings []setting, prefix string) string {
	var names []string
	for _, s := range settings {
		name, ok := strings.CutPrefix(s.name, prefix)
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	if prefix == "" {
		names = append(names, "chains", "plans")
	}

	return strings.Join(names, ", ")
}

// bareKey takes away what may stand around the parts of a key.
var bareKey = strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "")

// keyLines finds the line of every key of a file that parses: a key below
// [table] is table.key, one below the n-th [[table]] is table[n].key, and one
// below the m-th [[table.list]] of that is table[n].list[m].key.
func keyLines(text string) map[string]int {
	lines := map[string]int{}
	count := map[string]int{}
	prefix := ""
	within := func(name string) string {
		if table, below, ok := strings.Cut(name, "."); ok && count[table] > 0 {
			return fmt.Sprintf("%s[%d].%s", table, count[table]-1, below)
		}
		return name
	}

	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "[["):
			name := within(strings.TrimSpace(line[2:max(2, strings.Index(line, "]]"))]))
			at := fmt.Sprintf("%s[%d]", name, count[name])
			count[name]++
			lines[at], prefix = n+1, at+"."
		case strings.HasPrefix(line, "["):
			name := within(strings.TrimSpace(line[1:max(1, strings.IndexByte(line, ']'))]))
			lines[name], prefix = n+1, name+"."
		default:
			if key, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
				key = bareKey.Replace(key)
				if _, seen := lines[prefix+key]; !seen {
					lines[prefix+key] = n + 1
				}
			}
		}
	}

	return lines
}
