package main

import (
	"fmt"
	"io"
	"net/url"

	"tidemark/storage/registry"
)

// UsageCmd shows the units that an account used in a month.
type UsageCmd struct {
	AdminFlags
	Name  string `arg:"" help:"Name of the account."`
	Month string `help:"Month in UTC, such as 2026-11 (this month)." placeholder:"YYYY-MM"`
}

// Run shows them.
func (c *UsageCmd) Run() error {
	path := "/usage/" + url.PathEscape(c.Name) + "?month=" + url.QueryEscape(c.Month)
	return ask(&c.AdminFlags, "GET", path, nil, showUsage)
}

func showUsage(w io.Writer, v *registry.UsageView) {
	writeRow(w, "MONTH", "UNITS", "OF", "RESETS")
	limit := any("no limit")
	if v.UnitsLimit != nil {
		limit = *v.UnitsLimit
	}
	writeRow(w, v.Month, v.UnitsUsed, limit, v.ResetsAt)

	if v.UnitsReserved > 0 {
		writeRow(w)
		writeRow(w, fmt.Sprintf("%d more units count against the limit, uncharged: "+
			"requests may have used them when the node was killed.", v.UnitsReserved))
	}

	if len(v.Routes) > 0 {
		writeRow(w)
		writeRow(w, "UNITS", "REQUESTS", "ROUTE")
		for _, r := range v.Routes {
			writeRow(w, r.Units, r.Requests, r.Path)
		}
	}

	if len(v.Days) > 0 {
		writeRow(w)
		writeRow(w, "DAY", "UNITS", "REQUESTS")
		for _, d := range v.Days {
			writeRow(w, d.Day, d.Units, d.Requests)
		}
	}
}
