package burst

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"tidemark/storage/accounts"
)

// Announcement is what a node tells all others.
type Announcement struct {
	Node, Process string
	Number        uint64 // 1, 2, 3, … of the process
	Nodes         int64  // that it knows, with itself
	Rest          int64  // parts that it claims of accounts that are not listed
	Peers         []Heard
	Leaves        bool `json:",omitempty"` // it has stopped
	// Accounts are not part of the JSON.
	Accounts []Claim `json:"-"`
}

// Heard is what a node knows of another one.
type Heard struct {
	Node, Process string
	Number        uint64 // of the last announcement that it heard
	Nodes         int64
	SilentMs      int64 // since then
}

// Claim is what a node needs and claims of an account's limit.
type Claim struct {
	Account uint64
	Need    int64 // in thousandths of a request a second
	Parts   int64
}

const (
	// maxTold bounds the accounts of an announcement, so that it fits into a message of
	// NATS (1 MiB). Of others every node keeps the same part.
	maxTold = 40_000
	// maxNeed is far beyond what a node answers.
	maxNeed = 1 << 50
)

// encode returns the header and the body of a message. The body is three varints for each
// account.
func (a *Announcement) encode() (header string, body []byte) {
	text, err := json.Marshal(a)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, c := range a.Accounts {
		body = binary.AppendUvarint(body, c.Account)
		body = binary.AppendUvarint(body, uint64(c.Need))
		body = binary.AppendUvarint(body, uint64(c.Parts))
	}
	return string(text), body
}

// decodeAnnouncement reads what encode returned.
func decodeAnnouncement(header string, body []byte) (*Announcement, error) {
	a := new(Announcement)
	if err := json.Unmarshal([]byte(header), a); err != nil {
		return nil, fmt.Errorf("cannot read a node's announcement: %w", err)
	}
	if a.Node == "" || a.Nodes < 1 || a.Rest < 0 || a.Rest > accounts.WholeLimit {
		return nil, fmt.Errorf("node %q announces %d nodes and %d of %d parts",
			a.Node, a.Nodes, a.Rest, accounts.WholeLimit)
	}

	for len(body) > 0 {
		var v [3]uint64
		for i := range v {
			n := 0
			if v[i], n = binary.Uvarint(body); n <= 0 {
				return nil, fmt.Errorf("the announcement of node %s ends in the middle", a.Node)
			}
			body = body[n:]
		}
		if v[1] > maxNeed || v[2] > accounts.WholeLimit {
			return nil, fmt.Errorf("node %s needs %d and claims %d parts of account %d", a.Node, v[1], v[2], v[0])
		}
		a.Accounts = append(a.Accounts, Claim{v[0], int64(v[1]), int64(v[2])})
	}
	return a, nil
}
