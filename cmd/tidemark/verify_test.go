package main

import (
	"bytes"
	"testing"

	"tidemark/rankings"
)

// What verify prints, for people and for programs.
func TestVerifyPrints(t *testing.T) {
	list := []verifiedChain{{ChainID: 10, At: "2026-11-28T07:23:58.310Z", Verification: rankings.Verification{
		Block: 7, Compared: 12, Different: 1,
		Differences: []rankings.Difference{{
			What: "pool", ID: "0xab", Field: "liquidity", Ledger: "0x1", Contract: "0x2", FromBlock: 3, ToBlock: 7,
		}},
		Short:      1,
		Shortfalls: []rankings.Shortfall{{Token: "0xcd", Claimed: "9", Held: "8"}},
	}}}
	f := func(json bool, want string) {
		t.Helper()
		c := &VerifyCmd{}
		c.JSON = json
		var said bytes.Buffer
		if err := c.print(&said, list); err != nil || said.String() != want {
			t.Errorf("it prints\n%s\n%v; want\n%s", said.String(), err, want)
		}
	}

	f(false, "CHAIN  BLOCK  COMPARED  DIFFERENT\n10     7      12        1\n"+
		"chain 10, pool 0xab: liquidity is 0x1, the contract has 0x2; blocks 3 to 7\n"+
		"chain 10, token 0xcd: positions may take out 9, the contract holds 8\n")
	f(true, `[
  {
    "chainId": 10,
    "at": "2026-11-28T07:23:58.310Z",
    "block": 7,
    "compared": 12,
    "different": 1,
    "differences": [
      {
        "what": "pool",
        "id": "0xab",
        "field": "liquidity",
        "ledger": "0x1",
        "contract": "0x2",
        "fromBlock": 3,
        "toBlock": 7
      }
    ],
    "short": 1,
    "shortfalls": [
      {
        "token": "0xcd",
        "claimed": "9",
        "held": "8"
      }
    ]
  }
]
`)
}
