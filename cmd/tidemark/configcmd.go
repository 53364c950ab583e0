package main

import (
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
}

// Run prints the configuration.
func (c *ConfigPrintCmd) Run() error {
	l, err := loadConfig(c.Config, os.Environ(), nil)
	if err != nil {
		return err
	}
	l.printConfig(os.Stdout)
	return nil
}

// ConfigCheckCmd loads the configuration as serve does, makes the feeds, and
// reports every mistake at once.
type ConfigCheckCmd struct {
	Config string `help:"Configuration file." type:"path" placeholder:"FILE"`
}

// Run checks the configuration.
func (c *ConfigCheckCmd) Run() error {
	l, err := loadConfig(c.Config, os.Environ(), nil)
	if err != nil {
		return err
	}
	for _, variable := range l.ignored {
		fmt.Println("warning:", l.strayVariable(variable))
	}
	fmt.Println("configuration is good")
	return nil
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

	printTables(w, "chains", l.Chains)
	printTables(w, "plans", l.Plans)
}

func printTables[T any](w io.Writer, name string, list []T) {
	for i := range list {
		printTable(w, name, reflect.ValueOf(&list[i]).Elem())
	}
}

// printTable prints an entry of an array of tables, and the arrays within it.
func printTable(w io.Writer, name string, entry reflect.Value) {
	fmt.Fprintf(w, "\n[[%s]]\n", name)
	for _, s := range settingsOf("", entry) {
		fmt.Fprintf(w, "%s = %s\n", s.name, s.text())
	}
	for i := range entry.NumField() {
		if list := entry.Field(i); isArrayOfTables(list) {
			for n := range list.Len() {
				printTable(w, name+"."+settingName(entry.Type().Field(i).Name), list.Index(n))
			}
		}
	}
}
