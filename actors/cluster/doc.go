// Package cluster joins nodes by NATS JetStream. For each chain one node is the writer:
// it reads the chain and makes generations. The others follow it. What passes between
// them is the cut: one batch of the writer's store, with ledger, leaves and head.
//
//	writer                         stream TIDEMARK_CUTS, cut.<chain>       followers
//	Refresh ── batch ── Append ──> | 1 | 2 | 3 | 4 | 5 |  ── Next ──>  memory, store, board
//	   store, board <── stored ────┘
//
// # Safety
//
// A cut is in the stream before it is in any store and before anyone sees it. An append
// names the last message of the chain that the writer knows of, and the stream refuses
// it if there is another one. So two writers cannot fork: the second one's append is
// refused, and it becomes a follower. A writer that ends after an append finds its own
// cut in the stream when it starts again. No clock and no lease is part of this.
//
// Every cut has the hash of the one before it. A follower refuses a gap, another hash,
// and what it cannot read. It then takes the chain from a snapshot (snapshot.go,
// objects.go), which is checked as a whole before it replaces anything; until then the
// node shows the generation that it has, or has no such chain. The stream keeps the cuts
// after the older one of two snapshots (prune.go).
//
// # Leadership
//
// Who should write is a key with a time to live (lead.go). A node asks for it once it
// has followed to the end of the stream, renews it while it writes, and gives it back
// when it stops. It only keeps nodes from reading the chain in vain.
//
// # Messages
//
// A message is one part of a cut, at most PartBytes long (cut.go):
//
//	0    "TMCUT" 02
//	6    part, parts            2 bytes each
//	10   format of the store    2
//	12   number of the cut      8    1, 2, 3, … for each chain
//	20   hash of the cut before 32   of the first: zeros, or the hash of a FreshPlace
//	52   hash of this cut       32   SHA-256 of bytes 10 to 51 and of the whole body
//	84   a part of the body
//
// All numbers are big-endian. The body is zstd of the length of the note (4), the note
// and the batch. A cut counts once its last part is stored. A new writer may begin the
// same number again: the parts before are then void.
//
// Between two cuts the writer tells its followers where it stands, by messages that are
// not stored (beat.<chain>). They also wake followers that wait for a cut.
//
// Nodes tell each other in the same way of walks (walk, package pages), which go on at any
// of them, and which generations they have pinned (pin.<chain>), so that the writer does
// not delete their leaves. A node that cannot take a cut asks for a snapshot of it
// (want.<chain>).
package cluster
