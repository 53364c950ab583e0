package rankings

import "tidemark/rankings/market"

// Progress is how a chain that catches up is doing.
type Progress struct {
	FromBlock, ToBlock, AtBlock uint64 // where it began, the chain's head, and where it is
	Events                      uint64 // read since it began
	RequestsPerSecond           float64
}

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

// MaxDifferences bounds those that are listed: the first tell what to read again.
const MaxDifferences = 100

// Difference is a value of the ledger that is not the contract's. The event that
// is missing lies in FromBlock to ToBlock.
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
