package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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

func (f *tomlFile) root(tree map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		var err error
		switch key {
		case "chains":
			err = merge(f, key, tree[key], &f.into.Chains, newChain)
		case "plans":
			err = merge(f, key, tree[key], &f.into.Plans, newPlan)
		default:
			err = f.table("", map[string]any{key: tree[key]}, f.into.settings())
		}

		if err != nil {
			return err
		}
	}
	return nil
}

// table sets every key of a table, descending into tables below it.
func (f *tomlFile) table(prefix string, table map[string]any, settings []setting) error {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		name := prefix + key
		if below, ok := table[key].(map[string]any); ok && hasPrefix(settings, name+".") {
			if err := f.table(name+".", below, settings); err != nil {
				return err
			}
			continue
		}

		i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
		if i < 0 {
			return f.errorf(name, "unknown key %s; known are %s", name, siblings(settings, prefix))
		}
		if err := settings[i].set(table[key]); err != nil {
			return f.errorf(name, "%s", err)
		}

		f.into.origin[name] = fmt.Sprintf("file %s:%d", f.path, f.line(name))
	}
	return nil
}

// merge lays an array of tables over a list: a table with the id of an entry
// changes that entry, any other is appended.
func merge[T any](f *tomlFile, key string, raw any, list *[]T, blank func() T) error {
	tables, ok := tablesOf(raw)
	if !ok {
		return f.errorf(key, "%s is not an array of tables; write [[%s]]", key, key)
	}

	for n, table := range tables {
		at := fmt.Sprintf("%s[%d].", key, n)
		id, ok := table["id"]
		if !ok {
			return f.errorf(strings.TrimSuffix(at, "."), "an entry of [[%s]] has no id", key)
		}
		probe := blank()
		probed := settingsOf(at, reflect.ValueOf(&probe).Elem())
		if err := probed[0].set(id); err != nil {
			return f.errorf(at+"id", "%s", err)
		}
		i := slices.IndexFunc(*list, func(have T) bool {
			return reflect.ValueOf(have).Field(0).Equal(reflect.ValueOf(probe).Field(0))
		})
		if i < 0 {
			i = len(*list)
			*list = append(*list, probe)
		}
		entry := reflect.ValueOf(&(*list)[i]).Elem()
		if table, err := f.nested(at, table, entry); err != nil {
			return err
		} else if err := f.table(at, table, settingsOf(at, entry)); err != nil {
			return err
		}
	}
	return nil
}

// nested sets the arrays of tables within an entry, as [[chains.endpoints]], and
// returns the table without them. An array in the file replaces what was there.
func (f *tomlFile) nested(at string, table map[string]any, entry reflect.Value) (map[string]any, error) {
	rest := maps.Clone(table)
	for i := range entry.NumField() {
		list := entry.Field(i)
		key := dashed(entry.Type().Field(i).Name)
		raw, given := table[key]
		if !given || !isArrayOfTables(list) {
			continue
		}
		delete(rest, key)
		tables, ok := tablesOf(raw)
		if !ok {
			return nil, f.errorf(at+key, "%s%s is not an array of tables", at, key)
		}

		made := reflect.MakeSlice(list.Type(), len(tables), len(tables))
		for n, table := range tables {
			prefix := fmt.Sprintf("%s%s[%d].", at, key, n)
			if err := f.table(prefix, table, settingsOf(prefix, made.Index(n))); err != nil {
				return nil, err
			}
		}
		list.Set(made)
	}
	return rest, nil
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

// siblings lists the keys that a table knows.
func siblings(settings []setting, prefix string) string {
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
				key = strings.Trim(strings.TrimSpace(key), `"'`)
				if _, seen := lines[prefix+key]; !seen {
					lines[prefix+key] = n + 1
				}
			}
		}
	}

	return lines
}
