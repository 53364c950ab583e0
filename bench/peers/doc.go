// Command peers serves the positions of a corpus from a database: PostgreSQL,
// Redis or SQLite. `tidemark bench peers` starts it, compares its answers with
// a node's to the byte, and then times both in turns.
//
// It is a module of its own, so that the product does not depend on drivers of
// databases.
//
//	corpus ── rows ── load ──► database ◄── front ◄── the questions of the suite
//
// What makes the comparison fair, in the peers' favour where it is in doubt:
//
//   - The same content. Values and bytes of rows are made by the packages that
//     make the node's. A peer keeps every row as it is sent and only puts the
//     rank before it, while the node renders rows when they are asked for.
//   - The same front: fasthttp with room for head and body in one write, and the
//     node's own parser of questions. Under /keyed it also checks one of 20,000
//     keys, limits, meters and settles, as the node does; else it does not.
//   - No page cache anywhere: each side could have one, and would then answer as
//     fast as the cache.
//   - A count cache for everybody: the totals of all lists without a filter of
//     their own are kept from the refresh; under /counted they are counted now.
//   - CPU time is that of the front and of all processes of its database.
//
// PostgreSQL and SQLite share tables and indexes (schema.sql), questions and
// loading (sql.go), and marks by which deep pages do not walk (rows.go).
// PostgreSQL is tuned for the machine (postgres.go), SQLite has an immutable,
// mapped file (sqlite.go), and Redis a sorted set for every list (redis.go).
//
// Refresh means that every value and every ranking is replaced, at once for
// those who ask: a load of everything into an empty database. Rendering rows,
// sorting lists and making marks are not counted.
//
// The front is on 127.0.0.1, databases are on sockets, with data in one directory.
// PostgreSQL does not run as root; its packages make a user for it.
package main
