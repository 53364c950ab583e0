package accounts

// Route is a route that needs a key. The numbers are stored: never reuse one.
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
	// MaxUnits is what the dearest of them costs; leases are sized by it.
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

// Path is the route's template as the price list and usage reports have it.
func (r Route) Path() string { return routes[r].path }

// Units is what a charged answer of the route costs.
func (r Route) Units() int64 { return routes[r].units }
