package rankings

import "tidemark/rankings/market"

// Verification is a comparison of the ledger with the contracts at one block.
type Verification struct {
	Block       uint64       `json:"block"`
	At          int64        `json:"at"` // unix milliseconds
	Compared    int          `json:"compared"`
	Different   int          `json:"different"`
	Differences []Difference `json:"differences,omitempty"` // the first MaxDifferences
	Short       int          `json:"short,omitempty"`       // currencies of which the contract holds too little
	Shortfalls  []Shortfall  `json:"shortfalls,omitempty"`  // the first MaxDifferences
}

// Shortfall is a currency of which the pool manager holds less than positions may
// take out, in raw units: a token that takes a fee on transfers, or one that
// changes balances by itself.
type Shortfall struct {
	Token   string `json:"token"`
	Claimed string `json:"claimed"`
	Held    string `json:"held"`
}

// MaxDifferences bounds how many are listed; the first ones show which blocks
// have to be read again.
const MaxDifferences = 100

// Difference is a value in which the ledger and the contract differ. The missing
// event is in a block from FromBlock to ToBlock.
type Difference struct {
	What      string        `json:"what"` // pool, tick or position
	ID        string        `json:"id"`
	Field     string        `json:"field"`
	Ledger    string        `json:"ledger"`
	Contract  string        `json:"contract"`
	FromBlock uint64        `json:"fromBlock"`
	ToBlock   uint64        `json:"toBlock"`
	Pool      market.PoolID `json:"-"`
}
