// Package tidemark is a client of the Tidemark API. It uses only the standard
// library.
//
//	api := tidemark.New("http://127.0.0.1:8080", os.Getenv("KEY"))
//	for position, err := range api.AllPositions(ctx, tidemark.PositionsQuery{Sort: "pnl"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(position.Rank, position.PositionID)
//	}
//
// The types in schema.go are generated from the OpenAPI document. A nil pointer
// stands for the API's null, which means unknown and never 0. A call that fails
// temporarily waits and retries as the API asks. Each kind of failure is a type
// that embeds APIError.
package tidemark
