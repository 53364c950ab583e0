package telemetry

import (
	"bytes"
	"slices"
	"strings"
)

// Metric is one family of series.
type Metric struct {
	Name   string
	Type   string // counter, gauge or histogram
	Labels string // their names, with spaces between; empty: none
	Help   string
}

// Metrics are all that a node exposes of itself, by name. Those of the Go runtime
// and of the process come beside them.
var Metrics = []Metric{
	{"tidemark_actor_panics_total", "counter", "",
		"Panics in a chain's actor or its feed; each restores the chain from its store."},
	{"tidemark_archive_bytes", "gauge", "chain", "Size of the archive of what was fetched of a chain."},
	{"tidemark_archive_damages_total", "counter", "chain",
		"Damaged parts of an archive that were found; their blocks are fetched again."},
	{"tidemark_archive_missing_blocks", "gauge", "chain",
		"Blocks between the oldest and the newest that the archive lacks."},
	{"tidemark_archive_newest_block", "gauge", "chain", "Last block of the archive. NaN before the first."},
	{"tidemark_archive_oldest_block", "gauge", "chain", "First block of the archive. NaN before the first."},
	{"tidemark_archive_segments", "gauge", "chain", "Files of the archive."},
	{"tidemark_build_info", "gauge", "version commit format go",
		"1; the labels name the build and its data format."},
	{"tidemark_chain_commit_seconds", "histogram", "chain", "Time of a chain's commits to the store."},
	{"tidemark_chain_events_total", "counter", "chain", "Events applied to the ledger."},
	{"tidemark_chain_follow_seconds", "histogram", "chain",
		"Time to take a cut of the chain's writer, up to its generation on the board; none without a cluster."},
	{"tidemark_chain_generation", "gauge", "chain", "Number of the published generation; 0 before the first."},
	{"tidemark_chain_generation_age_seconds", "gauge", "chain",
		"Age of the published data: time since its block was last confirmed. NaN before the first generation."},
	{"tidemark_chain_lag_blocks", "gauge", "chain",
		"Blocks between the ledger and the chain's head. NaN before both are known."},
	{"tidemark_chain_lag_seconds", "gauge", "chain",
		"Seconds of the chain's own time between the ledger and the chain's head. NaN before both are known."},
	{"tidemark_chain_refresh_seconds", "histogram", "chain",
		"Time from a refresh's start to its generation on the board."},
	{"tidemark_chain_reverts_total", "counter", "chain", "Reorganisations."},
	{"tidemark_chain_spans_total", "counter", "chain", "Spans of blocks applied."},
	{"tidemark_clock_mistrusted", "gauge", "",
		"1 while the wall clock is more than a minute off the node's own."},
	{"tidemark_clock_offset_seconds", "gauge", "", "How far the wall clock is off the node's own."},
	{"tidemark_cluster_account_changes_total", "counter", "",
		"Changes of accounts, keys and plans that this node has stored for all nodes. Nodes of a cluster only."},
	{"tidemark_cluster_account_conflicts_total", "counter", "",
		"Changes of accounts that another node was ahead of and that were made again. Nodes of a cluster only."},
	{"tidemark_cluster_account_reload_failures_total", "counter", "",
		"Readings of the shared accounts that failed. Nodes of a cluster only."},
	{"tidemark_cluster_append_bytes_total", "counter", "chain",
		"Bytes of cuts that this node has stored in the cluster's stream. Nodes of a cluster only."},
	{"tidemark_cluster_append_seconds", "histogram", "chain",
		"Time to store a cut in the stream, up to its acknowledgement by a majority of the servers."},
	{"tidemark_cluster_broken_total", "counter", "chain",
		"Cuts that this node refused: missing, damaged, or of another history."},
	{"tidemark_cluster_burst_accounts", "gauge", "",
		"Accounts in use on any node, whose burst limit is divided by need. Nodes of a cluster only."},
	{"tidemark_cluster_burst_failures_total", "counter", "",
		"Messages about burst limits that could not be sent or read. Nodes of a cluster only."},
	{"tidemark_cluster_lag_cuts", "gauge", "chain",
		"Cuts of the chain's writer that this node does not have yet. NaN while no writer is heard of."},
	{"tidemark_cluster_lag_seconds", "gauge", "chain",
		"How long ago this node had all cuts of the chain's writer; 0: it has them."},
	{"tidemark_cluster_leased_units_total", "counter", "",
		"Units of quotas that this node has leased. Nodes of a cluster only."},
	{"tidemark_cluster_leases_total", "counter", "",
		"Leases that this node has taken. Nodes of a cluster only."},
	{"tidemark_cluster_nodes", "gauge", "",
		"Nodes that share burst limits, with this one. Nodes of a cluster only."},
	{"tidemark_cluster_nodes_silent", "gauge", "",
		"Nodes that share burst limits and were not heard for three seconds."},
	{"tidemark_cluster_open_lease_units", "gauge", "",
		"Units of quotas that are leased to this node and not spent. Nodes of a cluster only."},
	{"tidemark_cluster_refused_total", "counter", "chain",
		"Cuts of this node that the stream refused, because another node writes the chain."},
	{"tidemark_cluster_snapshot_age_seconds", "gauge", "chain",
		"Age of the newest snapshot of the chain. NaN before the first is known."},
	{"tidemark_cluster_snapshot_bytes", "gauge", "chain", "Size of the newest snapshot of the chain."},
	{"tidemark_cluster_snapshot_failures_total", "counter", "chain",
		"Snapshots of the chain that this node could not store or clean up after; it tries again."},
	{"tidemark_cluster_snapshot_seconds", "histogram", "chain",
		"Time to store a snapshot of the chain, which goes on meanwhile."},
	{"tidemark_cluster_snapshots_refused_total", "counter", "chain",
		"Snapshots that this node did not take: damaged, cut off, of another format, or unreadable."},
	{"tidemark_cluster_snapshots_taken_total", "counter", "chain",
		"Snapshots by which this node replaced its data of the chain."},
	{"tidemark_cluster_usage_conflicts_total", "counter", "",
		"Writes of usage that another node was ahead of and that were made again. Nodes of a cluster only."},
	{"tidemark_cluster_usage_failures_total", "counter", "",
		"Requests for leases and reports of usage that got no answer. Nodes of a cluster only."},
	{"tidemark_cluster_writer", "gauge", "chain", "1 while this node is to write the chain."},
	{"tidemark_config_reloads_total", "counter", "result",
		"Reloads of the configuration: ok, or refused for a mistake."},
	{"tidemark_disk_free_bytes", "gauge", "", "Free space where the data is."},
	{"tidemark_disk_status", "gauge", "status", "1 for the disk's present status: ok, slow, readonly or full."},
	{"tidemark_edge_accept_pauses_total", "counter", "",
		"Pauses in accepting connections for want of file descriptors."},
	{"tidemark_edge_answers_total", "counter", "flag",
		"Answers that are stale, partial, degraded or a kept copy."},
	{"tidemark_edge_connections_broken_total", "counter", "", "Connections that ended in an error."},
	{"tidemark_edge_connections_evicted_total", "counter", "", "Idle connections closed to make room."},
	{"tidemark_edge_connections_open", "gauge", "", "Open connections."},
	{"tidemark_edge_connections_refused_total", "counter", "reason",
		"Connections beyond a limit: of all, an address or a subnet."},
	{"tidemark_edge_jobs_queued", "gauge", "", "Counts, selections and histories that run or wait."},
	{"tidemark_edge_leaf_cache_total", "counter", "result",
		"Reads of ranking leaves that the cache had (hit) or not (miss)."},
	{"tidemark_edge_lease_waits_total", "counter", "",
		"Requests, and parts of long answers, that waited for an account's lease."},
	{"tidemark_edge_long_answers", "gauge", "", "Exports and event streams under way."},
	{"tidemark_edge_page_cache_total", "counter", "result", "Pages that the cache had (hit) or not (miss)."},
	{"tidemark_edge_panics_total", "counter", "",
		"Panics while serving. Each was answered with 500, or ended an answer that had begun."},
	{"tidemark_edge_pins", "gauge", "", "Cuts of generations that are kept for walks."},
	{"tidemark_edge_pins_refused_total", "counter", "",
		"Walks that found no room for another cut (limits.pins)."},
	{"tidemark_edge_queue_waits_total", "counter", "", "Expensive jobs that waited for their turn."},
	{"tidemark_edge_refused_total", "counter", "reason",
		"Requests with a good key that were refused: origin, burst, quota, lease or stalled metering."},
	{"tidemark_edge_request_seconds", "histogram", "route status",
		"Time to answer a request, by route and HTTP status; its _count is the number of requests."},
	{"tidemark_edge_requests_in_flight", "gauge", "", "Requests that are being answered."},
	{"tidemark_edge_selections", "gauge", "", "Selections of filters that run or are kept."},
	{"tidemark_edge_selections_refused_total", "counter", "",
		"Selections that found no room (limits.selections)."},
	{"tidemark_edge_selections_started_total", "counter", "", "Selections started."},
	{"tidemark_edge_stream_events_total", "counter", "", "Events sent to streams, each stream counted."},
	{"tidemark_edge_streams_cut_total", "counter", "", "Streams cut because their client did not read."},
	{"tidemark_edge_streams_open", "gauge", "", "Event streams under way."},
	{"tidemark_edge_streams_resumed_total", "counter", "how",
		"Streams that came back with an event's id: continued, or reset because too much was missed."},
	{"tidemark_edge_unauthorized_total", "counter", "reason",
		"Requests answered with 401, by what was wrong with the key."},
	{"tidemark_edge_units_charged_total", "counter", "route", "Units charged."},
	{"tidemark_edge_waits_expired_total", "counter", "for",
		"Waits for a count or a selection that ended without it."},
	{"tidemark_feed_bloom_false_positives_total", "counter", "chain",
		"Headers that hinted at events that were not there."},
	{"tidemark_feed_errors_total", "counter", "chain endpoint kind",
		"Failed calls of a node, by kind of failure."},
	{"tidemark_feed_events_per_second", "gauge", "chain", "Events read a second while catching up."},
	{"tidemark_feed_events_total", "counter", "chain", "Events read from nodes."},
	{"tidemark_feed_head_conflicts_total", "counter", "chain",
		"Heights at which two nodes showed different blocks."},
	{"tidemark_feed_receipts_missing_total", "counter", "chain", "Transactions whose receipt no node had."},
	{"tidemark_feed_reorgs_total", "counter", "chain", "Reorganisations that the feed found."},
	{"tidemark_feed_requests_total", "counter", "chain endpoint",
		"Calls sent to a node, each of a batch counted."},
	{"tidemark_feed_short_answers_total", "counter", "chain", "Answers that turned out to lack events."},
	{"tidemark_metering_flush_failures_total", "counter", "", "Batches of charges that could not be written."},
	{"tidemark_metering_flushes_total", "counter", "", "Batches of charges written."},
	{"tidemark_metering_panics_total", "counter", "", "Panics in metering; each was restarted."},
	{"tidemark_metering_rows_total", "counter", "", "Rows written in batches of charges."},
	{"tidemark_store_cache_bytes", "gauge", "", "Blocks of the store kept in memory."},
	{"tidemark_store_cache_hits_total", "counter", "", "Reads of blocks that were in memory."},
	{"tidemark_store_cache_misses_total", "counter", "", "Reads of blocks that were not in memory."},
	{"tidemark_store_commit_bytes_total", "counter", "", "Bytes of committed batches."},
	{"tidemark_store_commit_seconds", "histogram", "", "Time of a synced commit."},
	{"tidemark_store_commits_total", "counter", "", "Synced commits."},
	{"tidemark_store_compact_bytes_total", "counter", "", "Bytes written by compactions."},
	{"tidemark_store_compaction_debt_bytes", "gauge", "", "Bytes that compactions have still to write."},
	{"tidemark_store_damages_total", "counter", "", "Damaged values found; the generation is built anew."},
	{"tidemark_store_disk_bytes", "gauge", "", "Size of the store's files."},
	{"tidemark_store_flush_bytes_total", "counter", "", "Bytes written by flushes."},
	{"tidemark_store_log_bytes_total", "counter", "", "Bytes written to the log."},
	{"tidemark_store_memtable_bytes", "gauge", "", "Written data that is in memory until it is flushed."},
	{"tidemark_store_read_amplification", "gauge", "", "Files that a read may have to look into."},
	{"tidemark_store_slow_disk_operations_total", "counter", "", "Disk operations that took seconds."},
	{"tidemark_store_write_stalls_total", "counter", "", "Times at which writes waited for the store."},
}

// find returns the metric of a name.
func find(name string) (*Metric, bool) {
	i, ok := slices.BinarySearchFunc(Metrics, name, func(m Metric, name string) int {
		return strings.Compare(m.Name, name)
	})
	if !ok {
		return nil, false
	}
	return &Metrics[i], true
}

var helpMark = []byte("# HELP ")

// AppendHelp appends an exposition to dst, with the text of every metric behind
// its HELP, which the library that writes it leaves empty.
func AppendHelp(dst, exposition []byte) []byte {
	for line := range bytes.Lines(exposition) {
		name, isHelp := bytes.CutPrefix(bytes.TrimRight(line, "\n"), helpMark)
		m, known := find(string(name))
		if !isHelp || !known {
			dst = append(dst, line...)
			continue
		}
		dst = append(append(append(dst, helpMark...), name...), ' ')
		dst = append(append(dst, m.Help...), '\n')
	}
	return dst
}
