package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	"tidemark/edge/admin"
	"tidemark/rankings"
	"tidemark/storage/registry"
)

// VerifyCmd compares a running node's ledgers with the contracts.
type VerifyCmd struct {
	AdminFlags
	Chain  uint64 `help:"Chain id; all chains when it is not given." placeholder:"ID"`
	Sample int    `help:"Pools and positions to compare, each; 0: all." placeholder:"N"`
}

// verifyTimeout bounds the comparison of one chain: millions of words through a
// provider that takes a few dozen calls a second.
const verifyTimeout = 3 * time.Hour

// exitUnfinished is the exit code of a verification that could not be finished.
const exitUnfinished = 2

// verifyError is an error with an exit code of its own.
type verifyError struct {
	error
	code int
}

// ExitCode returns exitFailed for differences, or exitUnfinished.
func (e verifyError) ExitCode() int { return e.code }

// verifiedChain is what `verify --json` prints of a chain.
type verifiedChain struct {
	ChainID uint64 `json:"chainId"`
	At      string `json:"at"` // as /health has it, instead of the node's milliseconds
	rankings.Verification
}

// Run compares one chain after the other and prints every difference.
func (c *VerifyCmd) Run() error {
	if c.Sample < 0 {
		return fmt.Errorf("--sample is %d; allowed is a whole number from 0 on", c.Sample)
	}
	ids, err := c.chains()
	if err != nil {
		return verifyError{err, exitUnfinished}
	}

	node := adminClient(c.Data)
	node.http.Timeout = verifyTimeout
	list := []verifiedChain{}
	different := 0
	var failed error
	for _, id := range ids {
		v, err := node.verify(id, c.Sample)
		if err != nil {
			failed = errors.Join(failed, err) // it names the chain; the others are compared all the same
			continue
		}
		different += v.Different
		list = append(list, v)
	}

	if len(list) > 0 || failed == nil {
		if err := c.print(os.Stdout, list); err != nil {
			return err
		}
	}
	if different > 0 {
		differ := fmt.Errorf("%d values differ from the contracts", different)
		failed = errors.Join(verifyError{differ, exitFailed}, failed)
	}
	return failed
}

// verify has the node compare a chain. What is wrong then is no difference.
func (c *client) verify(id uint64, sample int) (v verifiedChain, err error) {
	path := fmt.Sprintf("/chains/%d/verify?sample=%d", id, sample)
	answer, err := c.do(http.MethodPost, path, nil)
	if err != nil {
		return v, verifyError{err, exitUnfinished}
	}

	v.ChainID = id
	if err := json.Unmarshal(answer, &v.Verification); err != nil {
		err = fmt.Errorf("cannot read the answer of the node on %s for chain %d: %w", c.dir, id, err)
		return v, verifyError{err, exitUnfinished}
	}
	v.At = registry.Stamp(v.Verification.At)
	return v, nil
}

// chains returns the chain that was named, or all that are enabled.
func (c *VerifyCmd) chains() (ids []uint64, err error) {
	if c.Chain != 0 {
		return []uint64{c.Chain}, nil
	}
	node := adminClient(c.Data)
	answer, err := node.do(http.MethodGet, "/chains", nil)
	if err != nil {
		return nil, err
	}
	var views []admin.ChainView
	if err := node.decode(answer, &views); err != nil {
		return nil, err
	}

	for i := range views {
		ids = append(ids, views[i].ChainID)
	}

	return ids, nil
}

func (c *VerifyCmd) print(out io.Writer, list []verifiedChain) error {
	if c.JSON {
		return printJSON(out, list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	writeRow(w, "CHAIN", "BLOCK", "COMPARED", "DIFFERENT")
	for i := range list {
		v := &list[i]
		writeRow(w, v.ChainID, v.Block, v.Compared, v.Different)
	}

	for i := range list {
		for _, d := range list[i].Differences {
			fmt.Fprintf(w, "chain %d, %s %s: %s is %s, the contract has %s; blocks %d to %d\n", list[i].ChainID,
				d.What, d.ID, d.Field, d.Ledger, d.Contract, d.FromBlock, d.ToBlock)
		}
		for _, s := range list[i].Shortfalls {
			fmt.Fprintf(w, "chain %d, token %s: positions may take out %s, the contract holds %s\n",
				list[i].ChainID, s.Token, s.Claimed, s.Held)
		}
	}

	return w.Flush()
}
