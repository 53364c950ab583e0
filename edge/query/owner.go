package query

import "tidemark/rankings/market"

// Owner reads the owner segment of a path.
func Owner(segment []byte) (*market.Address, error) { return parseAddress("owner", segment) }
