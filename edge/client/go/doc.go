// Package tidemark is a client of the Tidemark API. It needs the standard
// library only.
//
//	api := tidemark.New("http://127.0.0.1:8080", os.Getenv("KEY"))
//	for position, err := range api.AllPositions(ctx, tidemark.PositionsQuery{Sort: "pnl"}) {
//
// Types follow the OpenAPI document: typegen writes schema.go. A pointer is nil
// where the API says null, which is unknown and never 0. A call waits and tries
// again where the API says that it may succeed later, and its failures are
// types: see APIError.
package tidemark
