package main

import (
	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// CompletionCmd prints the script by which a shell completes commands and flags.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish," default:"" help:"bash, zsh or fish; the login shell when none is named."`
}

// Help says what to do with the script.
func (*CompletionCmd) Help() string {
	return `
For one session, type "source <(tidemark completion bash)", the same with zsh in zsh, or
"tidemark completion fish | source". For all sessions, put that line into the init file of
the shell.
`
}

// Run prints the script.
func (c *CompletionCmd) Run(ctx *kong.Context) error {
	script := kongcompletion.Completion{Shell: c.Shell, Code: true}
	return script.Run(ctx)
}
