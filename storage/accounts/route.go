package accounts

import "fmt"

// Route is a route that requires a key. The numbers are stored: never reuse one.
type Route uint8

const (
	RoutePositions Route = iota
	RoutePosition
	RoutePositionCharts
	RouteExplain
	RoutePools
	RoutePool
	RoutePoolCharts
	RouteUsage
	RoutePositionBatch
	RoutePoolBatch
	RoutePoolTicks
	RouteOwner
	RoutePositionExport
	RoutePoolExport
	RouteTokens
	RouteToken
	RouteStream
	RoutePoolEstimate

	// NumRoutes is how many there are.
	NumRoutes = 18
	// MaxUnits is the cost of the most expensive route. Leases are sized by it.
	MaxUnits = 10
	// RowsPerUnit is how many rows the price of an export pays for, and how many ids that of
	// a batch.
	RowsPerUnit = 20
)

// What a price pays for, where it is not a request.
var (
	perIDs  = fmt.Sprintf("%d ids begun", RowsPerUnit)
	perRows = fmt.Sprintf("%d rows begun", RowsPerUnit)
)

var routes = [NumRoutes]struct {
	path  string
	units int64
	per   string // what the units are for; a request when empty
}{
	RoutePositions:      {path: "/v1/positions", units: 1},
	RoutePosition:       {path: "/v1/positions/{chainId}/{protocol}/{positionId}", units: 1},
	RoutePositionCharts: {path: "/v1/positions/{chainId}/{protocol}/{positionId}/charts", units: 10},
	RouteExplain:        {path: "/v1/positions/{chainId}/{protocol}/{positionId}/explain", units: 1},
	RoutePools:          {path: "/v1/pools", units: 2},
	RoutePool:           {path: "/v1/pools/{chainId}/{protocol}/{poolId}", units: 1},
	RoutePoolCharts:     {path: "/v1/pools/{chainId}/{protocol}/{poolId}/charts", units: 10},
	RouteUsage:          {path: "/v1/usage"},
	RoutePositionBatch:  {path: "/v1/positions/batch", units: 1, per: perIDs},
	RoutePoolBatch:      {path: "/v1/pools/batch", units: 2, per: perIDs},
	RouteOwner:          {path: "/v1/owners/{address}", units: 2},
	RouteTokens:         {path: "/v1/tokens", units: 1},
	RouteToken:          {path: "/v1/tokens/{chainId}/{address}", units: 1},
	RoutePoolTicks:      {path: "/v1/pools/{chainId}/{protocol}/{poolId}/ticks", units: 1},
	RoutePoolEstimate:   {path: "/v1/pools/{chainId}/{protocol}/{poolId}/estimate", units: 10},
	RoutePositionExport: {path: "/v1/positions/export", units: 1, per: perRows},
	RoutePoolExport:     {path: "/v1/pools/export", units: 2, per: perRows},
	RouteStream:         {path: "/v1/stream", units: 1, per: "minute begun"},
}

// Path returns the route's template, as in the price list and in usage reports.
func (r Route) Path() string { return routes[r].path }

// Units returns the cost of a charged answer of the route.
func (r Route) Units() int64 { return routes[r].units }

// Per returns what the units are for, as the price list has it; empty is a request.
func (r Route) Per() string { return routes[r].per }
