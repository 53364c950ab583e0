package main

import (
	"io"
	"net/url"

	"tidemark/storage/registry"
)

// AccountsCmd administers the accounts of a running node.
type AccountsCmd struct {
	Create  AccountsCreateCmd  `cmd:"" help:"Make an account."`
	List    AccountsListCmd    `cmd:"" help:"List all accounts."`
	Show    AccountsShowCmd    `cmd:"" help:"Show an account, its keys and what it used this month."`
	Suspend AccountsSuspendCmd `cmd:"" help:"Refuse every request of an account from now on."`
	Resume  AccountsResumeCmd  `cmd:"" help:"Serve a suspended account again."`
	SetPlan AccountsSetPlanCmd `cmd:"" help:"Move an account to another plan."`
}

// AccountsCreateCmd makes an account.
type AccountsCreateCmd struct {
	AdminFlags
	Name string `arg:"" help:"a-z 0-9 . _ - and at most 64 characters."`
	Plan string `required:"" help:"Id of a plan, such as free or growth." placeholder:"PLAN"`
}

// Run makes the account.
func (c *AccountsCreateCmd) Run() error {
	body := map[string]string{"name": c.Name, "plan": c.Plan}
	return ask(&c.AdminFlags, "POST", "/accounts", body, showAccount)
}

// AccountsListCmd lists all accounts.
type AccountsListCmd struct{ AdminFlags }

// Run lists them.
func (c *AccountsListCmd) Run() error {
	return ask(&c.AdminFlags, "GET", "/accounts", nil, func(w io.Writer, v *[]registry.AccountView) {
		accountHead(w)
		for i := range *v {
			accountRow(w, &(*v)[i])
		}
	})
}

// AccountsShowCmd shows an account.
type AccountsShowCmd struct {
	AdminFlags
	Name string `arg:"" help:"Name of the account."`
}

// Run shows it.
func (c *AccountsShowCmd) Run() error {
	return ask(&c.AdminFlags, "GET", accountPath(c.Name), nil, func(w io.Writer, v *registry.AccountDetail) {
		showAccount(w, &v.AccountView)
		writeRow(w)
		showUsage(w, &v.Usage)
		writeRow(w)
		showKeys(w, &v.KeyList)
	})
}

// AccountsSuspendCmd suspends an account.
type AccountsSuspendCmd struct {
	AdminFlags
	Name string `arg:"" help:"Name of the account."`
}

// Run suspends it.
func (c *AccountsSuspendCmd) Run() error {
	return ask(&c.AdminFlags, "POST", accountPath(c.Name)+"/suspend", nil, showAccount)
}

// AccountsResumeCmd undoes a suspension.
type AccountsResumeCmd struct {
	AdminFlags
	Name string `arg:"" help:"Name of the account."`
}

// Run undoes it.
func (c *AccountsResumeCmd) Run() error {
	return ask(&c.AdminFlags, "POST", accountPath(c.Name)+"/resume", nil, showAccount)
}

// AccountsSetPlanCmd moves an account to another plan.
type AccountsSetPlanCmd struct {
	AdminFlags
	Name string `arg:"" help:"Name of the account."`
	Plan string `arg:"" help:"Id of the plan."`
}

// Run moves it.
func (c *AccountsSetPlanCmd) Run() error {
	body := map[string]string{"plan": c.Plan}
	return ask(&c.AdminFlags, "POST", accountPath(c.Name)+"/plan", body, showAccount)
}

func accountPath(name string) string { return "/accounts/" + url.PathEscape(name) }

func accountHead(w io.Writer) { writeRow(w, "NAME", "PLAN", "STATUS", "ACTIVE KEYS", "CREATED") }

func accountRow(w io.Writer, v *registry.AccountView) {
	writeRow(w, v.Name, v.Plan, v.Status, v.ActiveKeys, v.CreatedAt)
}

func showAccount(w io.Writer, v *registry.AccountView) {
	accountHead(w)
	accountRow(w, v)
}
