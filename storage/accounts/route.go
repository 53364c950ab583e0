package accounts

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

	// NumRoutes is how many there are.
	NumRoutes = 8
	// MaxUnits is the cost of the most expensive route. Leases are sized by it.
	MaxUnits = 10
)

var routes = [NumRoutes]struct {
	path  string
	units int64
}{
	RoutePositions:      {"/v1/positions", 1},
	RoutePosition:       {"/v1/positions/{chainId}/{protocol}/{positionId}", 1},
	RoutePositionCharts: {"/v1/positions/{chainId}/{protocol}/{positionId}/charts", 10},
	RouteExplain:        {"/v1/positions/{chainId}/{protocol}/{positionId}/explain", 1},
	RoutePools:          {"/v1/pools", 2},
	RoutePool:           {"/v1/pools/{chainId}/{protocol}/{poolId}", 1},
	RoutePoolCharts:     {"/v1/pools/{chainId}/{protocol}/{poolId}/charts", 10},
	RouteUsage:          {"/v1/usage", 0},
}

// Path returns the route's template, as in the price list and in usage reports.
func (r Route) Path() string { return routes[r].path }

// Units returns the cost of a charged answer of the route.
func (r Route) Units() int64 { return routes[r].units }
