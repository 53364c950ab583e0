package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"tidemark/storage"
)

// version and commit are set by the linker.
var version, commit = "unknown", "unknown"

// CLI is the command line: a struct for every subcommand, with its flags.
type CLI struct {
	Serve    ServeCmd    `cmd:"" help:"Index the chains and serve the API."`
	Accounts AccountsCmd `cmd:"" help:"Administer the accounts of a running node."`
	Keys     KeysCmd     `cmd:"" help:"Issue, list and revoke API keys of a running node."`
	Usage    UsageCmd    `cmd:"" help:"Show the units that an account used."`
	Chains   ChainsCmd   `cmd:"" help:"List chains, take them offline and online, and build or index them anew."`
	Cluster  ClusterCmd  `cmd:"" help:"Show the cluster as a running node sees it."`
	Archive  ArchiveCmd  `cmd:"" help:"Export and import the archives that chains are built from."`
	Verify   VerifyCmd   `cmd:"" help:"Compare a running node's ledgers with the contracts themselves."`
	Check    CheckCmd    `cmd:"" help:"Check a stopped node's data, or a running node's answers against each other."`
	Backup   BackupCmd   `cmd:"" help:"Write a checkpoint of a running node to a new directory."`
	Restore  RestoreCmd  `cmd:"" help:"Make a stopped node's data from a checkpoint."`
	Ready    ReadyCmd    `cmd:"" help:"Exit with 0 when a running node is ready for requests."`
	Config   ConfigCmd   `cmd:"" help:"Print or check the configuration."`
	Bench    BenchCmd    `cmd:"" help:"Measure a node, each figure beside its limit."`
	Version  VersionCmd  `cmd:"" help:"Print the version, the commit and the data format."`
	Help     HelpCmd     `cmd:"" help:"Show the commands, or the flags of one."`

	Completion  CompletionCmd    `cmd:"" help:"Print the completion script for bash, zsh or fish."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// VersionCmd prints the version.
type VersionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the version.
func (c *VersionCmd) Run() error {
	if c.JSON {
		return printJSON(os.Stdout, map[string]any{
			"version": version, "commit": commit, "dataFormat": storage.Format, "readsFrom": storage.OldestFormat,
			"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	_, err := fmt.Printf("tidemark %s\ncommit %s\ndata format %d (reads from %d on)\n%s %s/%s\n",
		version, commit, storage.Format, storage.OldestFormat,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// HelpCmd shows how a command is used.
type HelpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as keys issue."`
}

// Run prints what the command with --help prints.
func (c *HelpCmd) Run(parser *kong.Kong) error {
	// Printing the help ends the process with 0, as --help does.
	if _, err := parser.Parse(append(c.Command, "--help")); err != nil {
		return usageError{err}
	}
	return nil
}

// usageError is the error of a command line that cannot be understood.
type usageError struct{ error }

// Error adds where to look to what the parser says.
func (e usageError) Error() string {
	return e.error.Error() + "\n`tidemark help` lists the commands and their flags."
}

// ExitCode returns the code of such a command line.
func (usageError) ExitCode() int { return exitUsage }

func main() { os.Exit(run(os.Args[1:])) }

// Exit codes: of a command that failed, and of a command line that cannot be
// understood.
const (
	exitFailed = 1
	exitUsage  = 2
)

// interruptContext returns the context of a command that ends when it is interrupted or
// told to stop, or when its terminal is closed.
func interruptContext() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !hangupIgnored {
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(context.Background(), signals...)
}

// run is main with arguments and an exit code, so that tests can be the command.
func run(args []string) int {
	reload := takeHangups()
	var cli CLI
	parser := kong.Must(&cli,
		kong.Name("tidemark"),
		kong.Description("Ranked data on concentrated-liquidity positions and pools, from one low-latency node."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": "tidemark " + version},
		kong.NamedMapper("data", kong.MapperFunc(readData)),
	)
	kongcompletion.Register(parser)

	command, err := parser.Parse(args)
	if err != nil {
		err = usageError{err}
		fmt.Fprintln(os.Stderr, "tidemark:", err)
		return exitUsage
	}

	if !servesNode(command.Command()) {
		reload.giveBack()
	}
	if err := command.Run(parser, reload); err != nil {
		fmt.Fprintln(os.Stderr, "tidemark:", err)
		if with := kong.ExitCoder(nil); errors.As(err, &with) {
			return with.ExitCode()
		}
		return exitFailed
	}
	return 0
}
