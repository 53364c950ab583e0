package tidemark_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	tidemark "tidemark/edge/client/go"
)

// Every open position in order of profit, from the same rankings throughout.
func Example() {
	api := tidemark.New("http://127.0.0.1:8080", os.Getenv("KEY"))

	query := tidemark.PositionsQuery{Sort: "pnl", MinValueUsd: tidemark.USD(10_000)}
	for position, err := range api.AllPositions(context.Background(), query) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(position.Rank, position.ChainID, position.PositionID)
	}
}

// Each kind of failure is a type.
func ExampleClient_Position() {
	api := tidemark.New("http://127.0.0.1:8080", os.Getenv("KEY"))

	_, err := api.Position(context.Background(), 1, "999999999")
	if notFound := (*tidemark.NotFound)(nil); errors.As(err, &notFound) {
		fmt.Println(notFound)
	}
}

// Changes of two positions, as they happen. The stream comes back by itself.
func ExampleClient_Stream() {
	api := tidemark.New("http://127.0.0.1:8080", os.Getenv("KEY"))

	query := tidemark.StreamQuery{Positions: []string{"1-1", "1-2"}}
	for event, err := range api.Stream(context.Background(), query) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Name, event.ID)
	}
}
