-- What PostgreSQL and SQLite load into. Both have the same tables:
--
--   position   what is sorted and filtered by, narrow, so that scans are short
--   body       the rest of the answer, by row
--
-- and the same indexes: for every list one in its order, partial where the list
-- is. The lists of all chains also carry what filters look at, so that a filter
-- walks an order without touching the table; and a count has an index of its
-- own, by value. SQLite has no INCLUDE: what an index carries is part of its
-- order, and so are the flags of its condition, or they would be looked up.

{{define "begin"}}
{{if not .Postgres}}
-- A page of 16 KB holds seven bodies without an overflow page; of the usual
-- 4 KB, one fits and the rest is empty. Nothing is journaled in a file that
-- nobody has seen.
PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -1000000; -- KB
{{end}}
BEGIN;
CREATE TABLE position (row BIGINT, chain BIGINT, value FLOAT, tvl FLOAT,
  open BOOL, valued BOOL, in_range BOOL, safe BOOL, standard BOOL
  {{- range .Columns}}, {{.}} FLOAT{{end}});
{{if .Postgres}}
-- Bodies are kept in the row and not packed, since to unpack one takes longer
-- than to read it.
CREATE TABLE body (row BIGINT, body BYTEA);
ALTER TABLE body ALTER COLUMN body SET STORAGE PLAIN
{{else}}
-- The row is no key of positions: an index cannot seek by a table's key behind a
-- score.
CREATE TABLE body (row INTEGER PRIMARY KEY, body BYTEA)
{{end}}
{{end}}

{{define "end"}}
{{range $sort, $column := .Columns}}
{{$flag := flagOf $sort}}
CREATE INDEX of_{{$column}} ON position ({{$column}}, row
  {{- if $.Postgres}}) INCLUDE (value, tvl, in_range {{- else}}, value, tvl, in_range, {{$flag}}, standard {{- end}})
  WHERE {{$flag}} AND standard;
{{if $.Chains}}
CREATE INDEX of_chain_{{$column}} ON position (chain, {{$column}}, row
  {{- if not $.Postgres}}, {{$flag}}, standard{{end}}) WHERE {{$flag}} AND standard;
{{end}}
{{if eq $flag "open"}}CREATE INDEX of_every_{{$column}} ON position ({{$column}}, row);{{end}}
{{end}}
CREATE INDEX of_value ON position (value
  {{- if .Postgres}}) INCLUDE (tvl, in_range {{- else}}, tvl, in_range, open, safe {{- end}}) WHERE open AND safe;
{{if .Postgres}}
ALTER TABLE body ADD PRIMARY KEY (row); ANALYZE position; ANALYZE body; COMMIT; CHECKPOINT
{{else}}
ANALYZE; COMMIT
{{end}}
{{end}}
