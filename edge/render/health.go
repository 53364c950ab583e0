package render

import (
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// Health is the status of a chain or of the node.
type Health string

// The statuses. A chain has one of the first five, a node ok, degraded or down.
const (
	OK       Health = "ok"
	Syncing  Health = "syncing"
	Lagging  Health = "lagging"
	Down     Health = "down"
	Offline  Health = "offline"
	Degraded Health = "degraded"
)

// AppendHealth appends the body of /health up to the array of chains.
func AppendHealth(dst []byte, h Health, version string) []byte {
	dst = append(append(dst, `{"status":"`...), h...)
	dst = String(append(dst, `","version":`...), version)
	return append(dst, `,"chains":[`...)
}

// AppendDisk appends the field disk, which follows the chains.
func AppendDisk(dst []byte, status string, freeBytes uint64) []byte {
	dst = append(append(dst, `,"disk":{"status":"`...), status...)
	return append(integer(append(dst, `","freeBytes":`...), freeBytes), '}')
}

// AppendClock appends the field clock, which follows the disk.
func AppendClock(dst []byte, c *accounts.ClockState) []byte {
	dst = append(dst, `,"clock":{"status":"`...)
	if c.Mistrusted {
		dst = append(dst, "mistrusted"...)
	} else {
		dst = append(dst, "ok"...)
	}
	dst = number(append(dst, `","offsetSeconds":`...), c.Offset.Round(time.Millisecond).Seconds())
	return append(dst, '}')
}

// AppendChainHealth appends one chain of the body. Values that are not known are
// null. reason is empty for a chain that is ok. Outside of a cluster member is nil.
func AppendChainHealth(
	dst []byte, c *rankings.Chain, h Health, reason string, member *rankings.Membership,
) []byte {
	s := &c.Status
	dst = integer(append(dst, `{"chainId":`...), c.ID)
	dst = append(dst, `,"protocol":"`+market.Protocol+`","status":"`...)
	dst = append(dst, h...)
	dst = append(dst, `","reason":`...)
	if reason == "" {
		dst = append(dst, null...)
	} else {
		dst = String(dst, reason)
	}

	dst = append(append(dst, `,"role":"`...), s.Role.String()...)
	dst = appendHeadNumber(append(dst, `","lastIndexedBlock":`...), s.LastIndexed)
	dst = appendHeadNumber(append(dst, `,"chainHeadBlock":`...), s.ChainHead)
	dst = appendLag(dst, s)
	dst = moment(append(dst, `,"lastIndexedAt":`...), s.LastIndexedAt)
	dst = appendGeneration(dst, c.View)

	dst = appendProgress(append(dst, `,"progress":`...), s.Progress)
	dst = append(dst, `,"etaSeconds":`...)
	if s.ETASeconds == 0 {
		dst = append(dst, null...)
	} else {
		dst = integer(dst, s.ETASeconds)
	}
	dst = appendVerification(append(dst, `,"verified":`...), s.Verified)
	dst = integer(append(dst, `,"quarantinedPools":`...), int64(s.QuarantinedPools))
	if member != nil {
		dst = appendMembership(append(dst, `,"cluster":`...), member)
	}
	return append(dst, '}')
}

// appendMembership appends what the node knows of a chain in its cluster.
func appendMembership(dst []byte, m *rankings.Membership) []byte {
	dst = integer(append(dst, `{"cut":`...), m.Cut)
	if m.Writer == "" {
		dst = append(dst, `,"writer":null,"lagCuts":null,"lagMilliseconds":null`...)
	} else {
		dst = String(append(dst, `,"writer":`...), m.Writer)
		dst = integer(append(dst, `,"lagCuts":`...), m.LagCuts)
		dst = integer(append(dst, `,"lagMilliseconds":`...), m.LagMillis)
	}

	dst = append(dst, `,"snapshot":`...)
	if m.Snapshot.MadeAt == 0 {
		return append(append(dst, null...), '}')
	}

	dst = integer(append(dst, `{"cut":`...), m.Snapshot.Cut)
	dst = integer(append(dst, `,"bytes":`...), m.Snapshot.Bytes)
	dst = moment(append(dst, `,"madeAt":`...), m.Snapshot.MadeAt)
	return append(dst, "}}"...)
}

func appendProgress(dst []byte, p *rankings.Progress) []byte {
	if p == nil {
		return append(dst, null...)
	}
	dst = integer(append(dst, `{"fromBlock":`...), p.FromBlock)
	dst = integer(append(dst, `,"toBlock":`...), p.ToBlock)
	dst = integer(append(dst, `,"atBlock":`...), p.AtBlock)
	dst = integer(append(dst, `,"events":`...), p.Events)
	dst = number(append(dst, `,"requestsPerSecond":`...), p.RequestsPerSecond)
	return append(dst, '}')
}

func appendVerification(dst []byte, v *rankings.Verification) []byte {
	if v == nil {
		return append(dst, null...)
	}
	dst = integer(append(dst, `{"block":`...), v.Block)
	dst = moment(append(dst, `,"at":`...), v.At)
	dst = integer(append(dst, `,"compared":`...), int64(v.Compared))
	dst = integer(append(dst, `,"different":`...), int64(v.Different))
	return append(dst, '}')
}

// appendGeneration appends the fields of the published generation.
func appendGeneration(dst []byte, v *rankings.View) []byte {
	if v == nil {
		return append(dst, `,"dataAsOf":null,"generation":null,"asOfBlock":null,`+
			`"asOfBlockHash":null`...)
	}

	dst = moment(append(dst, `,"dataAsOf":`...), v.Confirmed())
	dst = integer(append(dst, `,"generation":`...), v.Generation)
	dst = integer(append(dst, `,"asOfBlock":`...), v.State.Head.Number)
	dst = append(dst, `,"asOfBlockHash":`...)
	if v.State.Head.Hash.IsZero() {
		return append(dst, null...)
	}

	dst = append(dst, '"')
	dst = v.State.Head.Hash.AppendHex(dst)
	return append(dst, '"')
}

func appendHeadNumber(dst []byte, h market.Head) []byte {
	if h == (market.Head{}) {
		return append(dst, null...)
	}
	return integer(dst, h.Number)
}

// appendLag appends how far the ledger is behind the chain's head, in blocks and
// in seconds of block time.
func appendLag(dst []byte, s *rankings.ChainStatus) []byte {
	blocks, seconds, known := s.Lag()
	dst = append(dst, `,"lagBlocks":`...)
	if !known {
		return append(dst, `null,"lagSeconds":null`...)
	}

	dst = integer(dst, blocks)
	return integer(append(dst, `,"lagSeconds":`...), seconds)
}
