package burst

import "tidemark/storage/accounts"

// adjust moves a share towards what this node is to have. It is lowered at once; how it is
// raised is in doc.go.
func (s *Shares) adjust(sh *share, v *scene) {
	if s.listening || v.lonely {
		s.adjustAlone(sh, v)
		return
	}

	target := s.target(sh, v)
	switch {
	case target <= sh.held:
		sh.held, sh.claim = target, target
	case sh.claim <= sh.held:
		sh.claim, sh.since = target, s.number
	default:
		sh.claim = min(sh.claim, target)
	}
	if sh.claim > sh.held && !v.unsure && v.allHeard(sh.since) {
		sh.held = max(sh.held, min(sh.claim, v.room(sh.account)))
	}
}

// adjustAlone is adjust for a node that hears nobody, or does not know yet of all nodes.
func (s *Shares) adjustAlone(sh *share, v *scene) {
	since := s.began
	for _, p := range s.peers {
		since = max(since, p.heardAt)
	}
	if s.listening && s.known == 0 {
		return
	}

	target := accounts.WholeLimit / v.nodes
	sh.held, sh.claim, sh.since = min(sh.held, target), target, s.number
	if len(v.live) == 0 && v.now-since >= fallbackAfter {
		sh.held = target
	}
}

// target is what this node is to have of a limit, by what all nodes that are heard need.
func (s *Shares) target(sh *share, v *scene) int64 {
	needs := make([]int64, 0, len(v.live)+1)
	rate := sh.rate()
	for _, p := range v.live {
		needs = append(needs, partsFor(p.claims[sh.account].Need, rate))
	}
	needs = append(needs, partsFor(sh.need, rate))

	target := divide(max(v.free(sh.account), 0), needs, len(v.live))
	if v.doubted {
		target = min(target, accounts.WholeLimit/v.nodes)
	}
	return target
}

// rate is the account's limit.
func (sh *share) rate() int64 {
	if sh.cell == nil {
		return 1
	}
	return max(sh.cell.Terms().Plan.RequestsPerSecond, 1)
}

// allHeard reports whether all nodes that are heard have heard an announcement.
func (v *scene) allHeard(number uint64) bool {
	for _, p := range v.live {
		if p.acked < number {
			return false
		}
	}
	return true
}

// free is what nodes that are not heard leave, below 0 if they may have more than all.
func (v *scene) free(account uint64) int64 {
	free := accounts.WholeLimit - v.unheard
	for _, p := range v.silent {
		free -= p.claimOf(account, v.now)
	}
	return free
}

// room is what the claims of all others leave.
func (v *scene) room(account uint64) int64 {
	room := v.free(account)
	for _, p := range v.live {
		room -= p.claimOf(account, v.now)
	}
	return max(room, 0)
}
