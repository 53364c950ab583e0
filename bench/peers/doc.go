// Command peers compares a node with what else could answer its questions:
// PostgreSQL, Redis and SQLite. `make bench-peers` runs it.
//
// It is a module of its own, so that drivers of databases are nothing that the
// product depends on.
//
//	corpus ── copy ──► node (no page cache) ◄───────────────┐
//	             └──► rows ── load ──► database ◄── front ◄─┴── the same questions
//
// What makes the comparison fair, in the peers' favour where it is in doubt:
//
//   - The same content. Rows are read from the store of a corpus, and their
//     values and bytes made by the packages that make the node's. A peer keeps
//     every row as it is sent and only puts its rank before it, while the node
//     renders rows when they are asked for.
//   - The same questions (questions.go), in the same sequence, by the same
//     client (bench/load), in turns within the same seconds; servers have the
//     first half of the cores, the client the other.
//   - The same answers. Before anything is timed, sixty answers to every kind of
//     question are compared to the byte: ids, order, ranks, every value, totals.
//     Ties go by chain and id, as the API says. What differs is not timed, and
//     the run fails.
//   - The same front: fasthttp with the node's buffers and its way of sending a
//     body (conn.go), and the node's own parser of questions. The node besides
//     checks one of 20,000 keys, limits, meters and settles; a front does not.
//   - No page cache anywhere: each of them could stand behind one, and then
//     answers as fast as the cache.
//   - A count cache for everybody who would have one: the totals of all lists
//     without a filter of their own, kept from the refresh ("page 1"), beside a
//     count made now ("page 1, counted").
//   - CPU time is that of a front and of all processes of its database.
//
// PostgreSQL and SQLite (sql.go) have a narrow table of what is sorted and
// filtered by, a table of bodies, and for every list a partial index in its
// order; those of all chains carry the filtered columns too, so that no filter
// touches the table. Deep pages do not walk: the loader leaves every 200th row of
// every list as a mark (marks.go), from which a page is a short step. PostgreSQL
// is tuned for the machine (pgserver.go), rows are loaded frozen so that scans
// read indexes alone, all plans are made beforehand, bodies are neither packed
// nor moved out of their rows, and questions come over a socket, a page and its
// count in one go. SQLite is asked below database/sql on an immutable, mapped
// file. Redis (redis.go) has a sorted set for every list, and a page is one
// command.
//
// Refresh means: every value and every ranking is replaced, at once for those
// who ask. That is a load of everything into new tables, a new file, or an empty
// Redis, timed into an empty database, where nothing has to be removed or to be
// held twice. Sorting lists and making marks is left to the loader and counted
// for nobody. The node's figure is one refresh of every chain of a market that
// goes on, following the events included; its values change as well, but it
// keeps nothing rendered.
//
// Everything runs on 127.0.0.1 and on sockets, with data in one directory that
// is removed at the end, also of an interrupted run. PostgreSQL does not run as
// root; its packages make a user for it.
package main
