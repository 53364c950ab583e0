// Typegen writes the types of both clients from the OpenAPI document, so that
// neither can differ from what is served:
//
//	go run ./edge/client/typegen     writes go/schema.go and ts/src/schema.ts
//
// Every named schema becomes a type of the same name; an object that stands
// inside another is named after its place, once for all places with the same
// shape. A schema that has every property of another and more, as a detail has
// those of its row, extends it. The parameters of the lists become a query.
package main
