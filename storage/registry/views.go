package registry

import (
	"time"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// The registry's answers, as JSON. Times are RFC 3339, UTC, with milliseconds. The
// last use of a key is known to the minute.
type (
	// AccountView is an account in a list.
	AccountView struct {
		Name       string `json:"name"`
		Plan       string `json:"plan"`
		Status     string `json:"status"` // active or suspended
		ActiveKeys int64  `json:"activeKeys"`
		CreatedAt  string `json:"createdAt"`
	}
	// AccountDetail is one account.
	AccountDetail struct {
		AccountView
		KeyList []KeyView `json:"keys"`
		Usage   UsageView `json:"usage"`
	}
	// KeyView is a key in a list. Only its first characters are stored.
	KeyView struct {
		ID             string   `json:"id"`
		Prefix         string   `json:"prefix"`
		Kind           string   `json:"kind"`
		Account        string   `json:"account"`
		Label          string   `json:"label"`
		AllowedOrigins []string `json:"allowedOrigins"`
		Status         string   `json:"status"` // active or revoked
		CreatedAt      string   `json:"createdAt"`
		RevokedAt      *string  `json:"revokedAt"`
		LastUsedAt     *string  `json:"lastUsedAt"`
	}
	// IssuedKey is the answer to IssueKey, the only one with the whole key.
	IssuedKey struct {
		ID             string   `json:"id"`
		Key            string   `json:"key"`
		Prefix         string   `json:"prefix"`
		Kind           string   `json:"kind"`
		Account        string   `json:"account"`
		Label          string   `json:"label"`
		AllowedOrigins []string `json:"allowedOrigins"`
		CreatedAt      string   `json:"createdAt"`
	}
	// UsageView is the usage of an account in a month.
	UsageView struct {
		Account   string `json:"account"`
		Plan      string `json:"plan"`
		Month     string `json:"month"`
		UnitsUsed int64  `json:"unitsUsed"`
		// UnitsReserved count against the limit but were never billed: they may have
		// been used when the node was killed.
		UnitsReserved int64        `json:"unitsReserved,omitempty"`
		UnitsLimit    *int64       `json:"unitsLimit"` // null: none
		ResetsAt      string       `json:"resetsAt"`
		Routes        []RouteUsage `json:"routes"`
		Days          []DayUsage   `json:"days"` // as of the last flush
	}
	// RouteUsage is a route's share of it.
	RouteUsage struct {
		Path     string `json:"path"`
		Requests int64  `json:"requests"`
		Units    int64  `json:"units"`
	}
	// DayUsage is a day's share of it.
	DayUsage struct {
		Day      string       `json:"day"`
		Requests int64        `json:"requests"`
		Units    int64        `json:"units"`
		Routes   []RouteUsage `json:"routes"`
	}
)

// Stamp is a time in unix milliseconds as answers and commands show it: RFC 3339, UTC, with
// milliseconds.
func Stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func stampOrNull(ms int64) *string {
	if ms == 0 {
		return nil
	}
	s := Stamp(ms)
	return &s
}

func viewAccount(at *account) AccountView {
	v := AccountView{
		Name: at.record.Name, Plan: at.record.Plan, Status: "active",
		ActiveKeys: at.active, CreatedAt: Stamp(at.record.CreatedAt),
	}
	if at.record.Suspended {
		v.Status = "suspended"
	}
	return v
}

func viewKey(k *accounts.Key) KeyView {
	v := KeyView{
		ID: keyID(k.ID), Prefix: k.Prefix.String(), Kind: k.Kind.String(), Account: k.Cell.Name,
		Label: k.Label, AllowedOrigins: append([]string{}, k.Origins...), Status: "active",
		CreatedAt: Stamp(k.CreatedAt), RevokedAt: stampOrNull(k.RevokedAt()),
	}
	// Of the last use only the minute is kept. The one in which the key was made began
	// before the key.
	if minute := time.Minute.Milliseconds(); k.CreatedAt/minute == k.UsedMinute() {
		v.LastUsedAt = &v.CreatedAt
	} else {
		v.LastUsedAt = stampOrNull(k.UsedMinute() * minute)
	}
	if v.RevokedAt != nil {
		v.Status = "revoked"
	}
	return v
}

func viewIssued(v KeyView, key string) IssuedKey {
	return IssuedKey{
		ID: v.ID, Key: key, Prefix: v.Prefix, Kind: v.Kind, Account: v.Account, Label: v.Label,
		AllowedOrigins: v.AllowedOrigins, CreatedAt: v.CreatedAt,
	}
}

func viewUsage(at *account, m accounts.Month, t *accounts.Tally, reserved int64,
	days []accountstore.DayRecord,
) UsageView {
	v := UsageView{
		Account: at.record.Name, Plan: at.record.Plan, Month: m.String(),
		UnitsUsed: t.Billed(), ResetsAt: accounts.SpanOf(m).Reset,
		Routes: viewRoutes(&t.Routes), Days: []DayUsage{},
	}
	if limit := at.cell.Terms().Plan.MonthlyUnits; limit > 0 {
		v.UnitsLimit, v.UnitsReserved = &limit, reserved
	}

	for i := range days {
		d := DayUsage{Day: days[i].Day.String(), Routes: viewRoutes(&days[i].Routes)}
		for _, r := range d.Routes {
			d.Requests += r.Requests
			d.Units += r.Units
		}
		v.Days = append(v.Days, d)
	}
	return v
}

// viewRoutes lists the routes with usage. One with units and no requests has a stream or an
// export that began on an earlier day.
func viewRoutes(counts *[accounts.NumRoutes]accounts.Count) []RouteUsage {
	routes := []RouteUsage{}
	for i, c := range counts {
		if c != (accounts.Count{}) {
			routes = append(routes, RouteUsage{accounts.Route(i).Path(), c.Requests, c.Units})
		}
	}
	return routes
}
