package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"tidemark/storage/registry"
)

// KeysCmd administers the API keys of a running node.
type KeysCmd struct {
	Issue  KeysIssueCmd  `cmd:"" help:"Issue a key; it is shown only once."`
	List   KeysListCmd   `cmd:"" help:"List keys by their first characters."`
	Revoke KeysRevokeCmd `cmd:"" help:"Revoke a key; it cannot be restored."`
}

// KeysIssueCmd issues a key.
type KeysIssueCmd struct {
	AdminFlags
	Account string   `required:"" help:"Name of the account." placeholder:"NAME"`
	Kind    string   `help:"server, or browser with its origins." enum:"server,browser" default:"server"`
	Origin  []string `help:"Allowed origin, as https://app.example.com; repeatable." sep:"none" placeholder:"ORIGIN"`
	Label   string   `help:"What the key is for." placeholder:"TEXT"`
}

// Run issues it.
func (c *KeysIssueCmd) Run() error {
	q := registry.KeyRequest{Account: c.Account, Kind: c.Kind, Origins: c.Origin, Label: c.Label}
	return ask(&c.AdminFlags, "POST", "/keys", q, func(w io.Writer, v *registry.IssuedKey) {
		writeRow(w, "id", v.ID)
		writeRow(w, "key", v.Key)
		writeRow(w, "account", v.Account)
		writeRow(w, "kind", v.Kind)
		if len(v.AllowedOrigins) > 0 {
			writeRow(w, "origins", strings.Join(v.AllowedOrigins, " "))
		}
		fmt.Fprintln(w, "Keep the key now: only its first characters are stored.")
	})
}

// KeysListCmd lists keys.
type KeysListCmd struct {
	AdminFlags
	Account string `help:"Only keys of this account." placeholder:"NAME"`
}

// Run lists them.
func (c *KeysListCmd) Run() error {
	return ask(&c.AdminFlags, "GET", "/keys?account="+url.QueryEscape(c.Account), nil, showKeys)
}

// KeysRevokeCmd revokes a key.
type KeysRevokeCmd struct {
	AdminFlags
	ID string `arg:"" help:"Id of the key, as keys list shows it."`
}

// Run revokes it.
func (c *KeysRevokeCmd) Run() error {
	return ask(&c.AdminFlags, "POST", "/keys/"+url.PathEscape(c.ID)+"/revoke", nil,
		func(w io.Writer, v *registry.KeyView) { showKeys(w, &[]registry.KeyView{*v}) })
}

func showKeys(w io.Writer, keys *[]registry.KeyView) {
	writeRow(w, "ID", "PREFIX", "KIND", "ACCOUNT", "STATUS", "CREATED", "LAST USED", "ORIGINS", "LABEL")
	for _, k := range *keys {
		origins := strings.Join(k.AllowedOrigins, " ")
		writeRow(w, k.ID, k.Prefix+"…", k.Kind, k.Account, k.Status, k.CreatedAt, orDash(k.LastUsedAt),
			orDash(&origins), k.Label)
	}
}
