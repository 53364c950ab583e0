package main

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres answers from PostgreSQL.
type postgres struct {
	pool  *pgxpool.Pool
	marks map[list]*marks
	pages map[list]string // texts of pages with pageRows
}

// postgresConnections are few: more only take turns on the same cores.
const postgresConnections = 4

func openPostgres(ctx context.Context, at string, chains []uint32) (peer, error) {
	cfg, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", at, err)
	}
	p := &postgres{marks: map[list]*marks{}, pages: map[list]string{}}
	for _, l := range lists(chains) {
		p.pages[l] = pageText(l, pageRows)
	}
	cfg.MaxConns, cfg.MinConns = postgresConnections, postgresConnections
	cfg.AfterConnect = p.warm
	cfg.ConnConfig.StatementCacheCapacity = 1024 // every text that there is
	cfg.ConnConfig.RuntimeParams["search_path"] = "live"
	// Every text has one best plan, whatever its parameters are, and to find it
	// takes ten times as long as to run it.
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("cannot reach PostgreSQL: %w", err)
	}
	rows, err := p.pool.Query(ctx, "SELECT list, n, score, row FROM mark ORDER BY list, n")
	if err != nil {
		return nil, fmt.Errorf("cannot read marks: %w", err)
	}
	names := byName(chains)
	var m markRow
	_, err = pgx.ForEachRow(rows, []any{&m.list, &m.n, &m.score, &m.row}, func() error {
		takeMark(p.marks, names, m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read marks: %w", err)
	}
	return p, nil
}

// warm plans what a connection will be asked.
func (p *postgres) warm(ctx context.Context, conn *pgx.Conn) error {
	for l, text := range p.pages {
		args := []any{math.Inf(1), int32(0)}
		if l.chain != 0 {
			args = append(args, int32(l.chain))
		}
		if _, err := conn.Exec(ctx, text, append(args, int64(0))...); err != nil {
			return fmt.Errorf("cannot plan %q: %w", text, err)
		}
	}
	return nil
}

func (p *postgres) close() { p.pool.Close() }

// answer sends all statements of a question in one go.
func (p *postgres) answer(out *page, q *asked) error {
	l, ok := listOf(&q.PositionQuestion)
	if !ok {
		return p.filter(out, q)
	}
	m := p.marks[l]
	from, skip, ok := m.before(q.Offset())
	out.total = m.total
	if !ok {
		return nil
	}
	text := p.pages[l]
	if q.Limit != pageRows {
		text = pageText(l, q.Limit)
	}
	var chain []any
	if l.chain != 0 {
		chain = []any{int32(l.chain)}
	}
	args := append(append([]any{from.score, int32(from.row)}, chain...), int64(skip))
	if !q.counted {
		rows, err := p.pool.Query(context.Background(), text, args...)
		if err != nil {
			return fmt.Errorf("cannot ask for a page: %w", err)
		}
		return addRows(out, rows)
	}
	var batch pgx.Batch
	batch.Queue(text, args...)
	batch.Queue(countText(l), chain...)
	return p.send(out, &batch)
}

func (p *postgres) filter(out *page, q *asked) error {
	if err := filterable(&q.PositionQuestion); err != nil {
		return err
	}
	text, count := filterTexts(&q.PositionQuestion)
	var batch pgx.Batch
	batch.Queue(text, q.MinValueUsd, q.MinPoolTVLUsd, int64(q.Offset()))
	batch.Queue(count, q.MinValueUsd, q.MinPoolTVLUsd)
	return p.send(out, &batch)
}

// send asks for a page and its count.
func (p *postgres) send(out *page, batch *pgx.Batch) error {
	results := p.pool.SendBatch(context.Background(), batch)
	defer results.Close()
	rows, err := results.Query()
	if err != nil {
		return fmt.Errorf("cannot ask for a page: %w", err)
	}
	if err := addRows(out, rows); err != nil {
		return err
	}
	var total int64
	if err := results.QueryRow().Scan(&total); err != nil {
		return fmt.Errorf("cannot count: %w", err)
	}
	out.total = uint64(total)
	return nil
}

func addRows(out *page, rows pgx.Rows) error {
	for rows.Next() {
		out.add(rows.RawValues()[0])
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("cannot read a page: %w", err)
	}
	return nil
}
