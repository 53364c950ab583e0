// Command tidemark is the node and everything that administers it.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "unknown"

// CLI is the command line: a struct for every subcommand, with its flags.
type CLI struct {
	Serve    ServeCmd    `cmd:"" help:"Index the chains and serve the API."`
	Accounts AccountsCmd `cmd:"" help:"Administer the accounts of a running node."`
	Keys     KeysCmd     `cmd:"" help:"Issue, list and revoke API keys of a running node."`
	Usage    UsageCmd    `cmd:"" help:"Show the units that an account used."`
	Chains   ChainsCmd   `cmd:"" help:"List, switch off and on, and resynchronise chains."`
	Check    CheckCmd    `cmd:"" help:"Check every invariant of a stopped node's data."`
	Backup   BackupCmd   `cmd:"" help:"Write a checkpoint of a running node to a new directory."`
	Restore  RestoreCmd  `cmd:"" help:"Make a stopped node's data from a checkpoint."`
	Config   ConfigCmd   `cmd:"" help:"Print or check the configuration."`
	Bench    BenchCmd    `cmd:"" help:"Measure a node, each figure beside its limit."`
	Version  VersionCmd  `cmd:"" help:"Print the version."`
}

// VersionCmd prints the version.
type VersionCmd struct{}

// Run prints the version.
func (VersionCmd) Run() error {
	_, err := fmt.Println("tidemark", version)
	return err
}

func main() { os.Exit(run()) }

// run is main with an exit code, so that tests can be the command.
func run() int {
	var cli CLI
	command := kong.Parse(&cli,
		kong.Name("tidemark"),
		kong.Description("Ranked data on concentrated-liquidity positions and pools, from one low-latency node."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "tidemark:", err)
		return 1
	}
	return 0
}
