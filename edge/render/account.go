package render

import "tidemark/storage/accounts"

// AppendPlan appends a plan of the price list. A limit that the plan does not have
// is null.
func AppendPlan(dst []byte, p *accounts.Plan) []byte {
	dst = String(append(dst, `{"id":`...), p.ID)
	dst = String(append(dst, `,"name":`...), p.Name)
	dst = number(append(dst, `,"priceUsdMonthly":`...), p.PriceUsdMonthly)
	dst = appendLimit(append(dst, `,"monthlyUnits":`...), p.MonthlyUnits)
	dst = appendLimit(append(dst, `,"requestsPerSecond":`...), p.RequestsPerSecond)
	dst = appendLimit(append(dst, `,"burst":`...), p.Burst)
	dst = integer(append(dst, `,"maxApiKeys":`...), p.MaxAPIKeys)
	dst = boolean(append(dst, `,"browserKeys":`...), p.BrowserKeys)
	return append(dst, '}')
}

// appendLimit appends a limit of a plan; 0 is no limit, and null in JSON.
func appendLimit(dst []byte, n int64) []byte {
	if n == 0 {
		return append(dst, null...)
	}
	return integer(dst, n)
}

// AppendUnits appends the price of a route in units, and what they are for if that
// is not a request.
func AppendUnits(dst []byte, r accounts.Route) []byte {
	dst = append(append(dst, `{"method":"GET","path":"`...), r.Path()...)
	dst = integer(append(dst, `","units":`...), r.Units())
	if r.Per() != "" {
		dst = String(append(dst, `,"per":`...), r.Per())
	}
	return append(dst, '}')
}

// Usage is an account's usage in a month.
type Usage struct {
	Account string
	Plan    *accounts.Plan
	Span    *accounts.Span
	Tally   *accounts.Tally
	// Reserved units count against the limit but are not charged. They are left out
	// of the answer if 0.
	Reserved int64
}

// AppendUsage appends the body of /v1/usage. Routes without usage are left out. One with units
// and no requests has a stream or an export that began in the month before.
func AppendUsage(dst []byte, u *Usage) []byte {
	dst = String(append(dst, `{"account":`...), u.Account)
	dst = String(append(dst, `,"plan":`...), u.Plan.ID)
	dst = String(append(dst, `,"month":`...), u.Span.Month.String())
	dst = integer(append(dst, `,"unitsUsed":`...), u.Tally.Billed())
	if u.Reserved > 0 {
		dst = integer(append(dst, `,"unitsReserved":`...), u.Reserved)
	}

	dst = appendLimit(append(dst, `,"unitsLimit":`...), u.Plan.MonthlyUnits)
	dst = String(append(dst, `,"resetsAt":`...), u.Span.Reset)
	dst = append(dst, `,"routes":[`...)
	first := true
	for r := range accounts.Route(accounts.NumRoutes) {
		n := &u.Tally.Routes[r]
		if *n == (accounts.Count{}) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, `{"path":"`...), r.Path()...)
		dst = integer(append(dst, `","requests":`...), n.Requests)
		dst = integer(append(dst, `,"units":`...), n.Units)
		dst = append(dst, '}')
	}

	return append(dst, `]}`...)
}
