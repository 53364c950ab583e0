// Package consistency holds the answers of a running node against each other.
// It is a client: it knows the API's rules and nothing of the node, asks for
// every row there is, and computes from some answers what the others must be.
// tidemark check --url runs it.
//
//	client.go     asks, waits where the node says so, counts requests
//	snapshot.go   all rows of a chain in one generation, read anew when it moves on
//	fields.go     which fields an answer has
//	exact.go      the contracts' arithmetic on big integers
//	rows.go       a position's row: amounts, USD, results, markers; its range and
//	              times in lifecycle.go
//	poolrows.go   a pool's row, and what its positions make of it
//	lists.go      orders, filters, totals, pages; positions.go, pools.go and
//	              keys.go say which questions
//	merged.go     several chains in one list, and the free routes
//	ticks.go      a pool's ticks against its row and its positions
//	tokens.go     tokens against the rows of pools, and their prices redone
//	owners.go     what owners hold against their positions
//	batches.go    rows by their ids against the lists
//	details.go    details against rows, histories against amounts
//	payments.go   shares of gas against what transactions paid
//	charts.go     charts against rows, days against each other; hours against
//	              days in charthours.go, the bins of a distribution in
//	              distribution.go
//	explain.go    explanations, redone step by step
//	answer.go     one answer by itself, for the bench suite
//	report.go     what was compared and what differs
//
// # Generations
//
// Two answers can only be compared when they are of one generation, which the
// header X-Generation names. A snapshot is all rows of one chain, read in one
// generation. Every other answer is compared with the snapshot of its chain,
// when it is of that generation; when the chain has moved on in between, a new
// snapshot is taken and the question is asked again, Tries times at most. So a
// live node is checked as a frozen one is, question by question.
//
// # Numbers
//
// Integers are compared exactly, and so are the digits of amounts. A float is
// recomputed from the same inputs in another order, so it may differ by
// rounding: a part in 10^9 of the largest number that went into it.
package consistency
