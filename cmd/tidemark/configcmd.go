package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// ConfigCmd shows or checks the configuration without starting a node.
type ConfigCmd struct {
	Print ConfigPrintCmd `cmd:"" help:"Print the effective configuration, with where each value comes from."`
	Check ConfigCheckCmd `cmd:"" help:"Check the configuration and say what is wrong with it."`
}

// ConfigPrintCmd prints TOML that gives the same configuration again.
type ConfigPrintCmd struct {
	Config string `help:"Configuration file." type:"path" placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run prints the configuration.
func (c *ConfigPrintCmd) Run() error {
	l, err := loadConfig(c.Config, os.Environ(), nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(os.Stdout, l.tree())
	}
	out := bufio.NewWriter(os.Stdout) // which keeps the first error
	l.printConfig(out)
	return out.Flush()
}

// ConfigCheckCmd loads the configuration as serve does, makes the feeds, and
// reports every mistake at once.
type ConfigCheckCmd struct {
	Config string `help:"Configuration file." type:"path" placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run checks the configuration.
func (c *ConfigCheckCmd) Run() error {
	l, err := loadConfig(c.Config, os.Environ(), nil)
	if c.JSON {
		return errors.Join(printJSON(os.Stdout, checkedConfigOf(l, err)), err)
	}
	if err != nil {
		return err
	}
	for _, variable := range l.ignored {
		fmt.Println("warning:", l.strayVariable(variable))
	}
	_, err = fmt.Println("configuration is good")
	return err
}

// checkedConfig is what `config check --json` prints.
type checkedConfig struct {
	Mistakes []string `json:"mistakes"` // a node does not start with any
	Warnings []string `json:"warnings"`
}

func checkedConfigOf(l *loaded, err error) checkedConfig {
	c := checkedConfig{Mistakes: []string{}, Warnings: []string{}}
	var wrong mistakes
	if errors.As(err, &wrong) {
		for _, mistake := range wrong {
			c.Mistakes = append(c.Mistakes, mistake.Error())
		}
		return c
	}

	for _, variable := range l.ignored {
		c.Warnings = append(c.Warnings, l.strayVariable(variable))
	}
	return c
}

// shownSetting is a setting as `config print --json` prints it.
type shownSetting struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	From  string `json:"from"`
	About string `json:"about"`
}

// tree is the configuration for programs.
func (l *loaded) tree() map[string]any {
	var list []shownSetting
	for _, s := range l.settings() {
		list = append(list, shownSetting{s.name, s.plain(), l.originOf(s.name), s.about})
	}
	return map[string]any{
		"settings": list,
		"chains":   l.treesOf("chains", reflect.ValueOf(l.Chains)),
		"plans":    l.treesOf("plans", reflect.ValueOf(l.Plans)),
	}
}

// treesOf returns the keys and values of an array of tables, and of the arrays within it.
// What a key of an entry comes from is under "from".
func (l *loaded) treesOf(name string, list reflect.Value) []map[string]any {
	trees := []map[string]any{}
	for n := range list.Len() {
		entry, tree, from := list.Index(n), map[string]any{}, map[string]string{}
		table := l.tableOf(name, n, entry)
		for _, s := range settingsOf("", entry) {
			tree[s.name], from[s.name] = s.plain(), l.originOf(table+"."+s.name)
		}

		for i := range entry.NumField() {
			if below := entry.Field(i); isArrayOfTables(below) {
				key := settingName(entry.Type().Field(i).Name)
				tree[key] = l.treesOf(table+"."+key, below)
			}
		}
		tree["from"] = from
		trees = append(trees, tree)
	}
	return trees
}

// tableOf returns what the n-th entry of an array of tables is called in the file: chains
// and plans by their id, since there are some that it does not have.
func (l *loaded) tableOf(name string, n int, entry reflect.Value) string {
	if name == "chains" || name == "plans" {
		return l.tables[fmt.Sprint(name, " ", entry.Field(0))]
	}
	return fmt.Sprintf("%s[%d]", name, n)
}

func (l *loaded) printConfig(w io.Writer) {
	table := ""
	for _, s := range l.settings() {
		key := s.name
		if at := strings.LastIndexByte(s.name, '.'); at >= 0 {
			key = s.name[at+1:]
			if s.name[:at] != table {
				table = s.name[:at]
				fmt.Fprintf(w, "\n[%s]\n", table)
			}
		}
		fmt.Fprintf(w, "%-40s # %s", key+" = "+s.text(), l.originOf(s.name))
		if s.about != "" {
			fmt.Fprintf(w, "; %s", s.about)
		}
		fmt.Fprintln(w)
	}

	p := tablePrinter{w, l}
	p.print("chains", "chains", reflect.ValueOf(l.Chains))
	p.print("plans", "plans", reflect.ValueOf(l.Plans))
}

// tablePrinter prints arrays of tables.
type tablePrinter struct {
	io.Writer
	origins *loaded // nil: what keys come from is not printed
}

// print prints the entries of an array, and the arrays within each. name is that of the array
// in the file.
func (p *tablePrinter) print(heading, name string, list reflect.Value) {
	for n := range list.Len() {
		entry, table := list.Index(n), ""
		if p.origins != nil {
			table = p.origins.tableOf(name, n, entry)
		}
		fmt.Fprintf(p, "\n[[%s]]\n", heading)
		for _, s := range settingsOf("", entry) {
			p.printKey(s.name+" = "+s.text(), table+"."+s.name)
		}

		for i := range entry.NumField() {
			if below := entry.Field(i); isArrayOfTables(below) {
				key := settingName(entry.Type().Field(i).Name)
				p.print(heading+"."+key, table+"."+key, below)
			}
		}
	}
}

func (p *tablePrinter) printKey(text, name string) {
	if p.origins == nil {
		fmt.Fprintln(p, text)
		return
	}
	fmt.Fprintf(p, "%-40s # %s\n", text, p.origins.originOf(name))
}
