package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// plan is what a provider allows.
type plan struct {
	name      string
	latency   time.Duration
	perSecond float64 // calls, each of a batch counted; 0: no limit
	batch     int     // calls in one request
	span      uint64  // blocks of eth_getLogs
	results   int
}

// The plans: a node of one's own or a large plan, and one that costs little.
var (
	generous = plan{
		name: "generous", latency: 100 * time.Millisecond, batch: 100,
		span: 10_000, results: 10_000,
	}
	small = plan{
		name: "small", latency: 100 * time.Millisecond, perSecond: 25, batch: 10,
		span: 2000, results: 10_000,
	}
)

// provider answers JSON-RPC as a plan allows.
type provider struct {
	*mockChain
	plan
	calls, requests, refused atomic.Int64

	mu    sync.Mutex
	left  float64
	at    time.Time
	heard []heard // in the order of their times
}

// heard is a request with so many calls, when it came.
type heard struct {
	at    time.Time
	calls int
}

func newProvider(c *mockChain, p plan) *provider { return &provider{mockChain: c, plan: p} }

// hear notes a request.
func (p *provider) hear(calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, heard{time.Now(), calls})
}

// callsBetween returns how many calls came between two times.
func (p *provider) callsBetween(from, to time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.heard {
		if !h.at.Before(from) && h.at.Before(to) {
			n += h.calls
		}
	}
	return n
}

// mostInASecond returns the most calls that came in any second.
func (p *provider) mostInASecond() (most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, first := 0, 0
	for _, h := range p.heard {
		n += h.calls
		for h.at.Sub(p.heard[first].at) >= time.Second {
			n -= p.heard[first].calls
			first++
		}
		most = max(most, n)
	}
	return most
}

// take counts calls against a bucket of one second.
func (p *provider) take(calls int) bool {
	if p.perSecond == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	p.left += now.Sub(p.at).Seconds() * p.perSecond
	p.left, p.at = min(p.left, p.perSecond), now
	if p.left < float64(calls) {
		return false
	}
	p.left -= float64(calls)
	return true
}

// call is a call of a request, as it is written there.
type call struct {
	id     []byte
	method string
	params [][]byte
}

// readCalls reads a request: one call or several.
func readCalls(body io.Reader) (calls []call, single bool, err error) {
	r := endpoint.NewReader(body)
	read := func() error {
		c, err := readCall(r)
		calls = append(calls, c)
		return err
	}
	if single = r.Next() == '{'; single {
		return calls, single, read()
	}
	return calls, single, r.Elements(read)
}

func readCall(r *endpoint.Reader) (c call, err error) {
	value := func(keep *[]byte) error {
		v, err := r.Value()
		*keep = bytes.Clone(v)
		return err
	}

	err = r.Fields(func(name []byte) error {
		switch string(name) {
		case "id":
			return value(&c.id)
		case "method":
			v, err := r.Value()
			c.method = unquoted(v)
			return err
		case "params":
			return r.Elements(func() error {
				c.params = append(c.params, nil)
				return value(&c.params[len(c.params)-1])
			})
		}
		return r.Skip()
	})
	return c, err
}

// unquoted returns a string of a request. None has an escaped character.
func unquoted(text []byte) string { return string(bytes.Trim(text, `"`)) }

// ServeHTTP implements http.Handler.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	calls, single, err := readCalls(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	p.hear(len(calls))
	time.Sleep(p.latency)
	p.requests.Add(1)
	if len(calls) > p.batch {
		http.Error(w, `{"error":{"code":-32600,"message":"batch size exceeds the limit of your plan"}}`,
			http.StatusRequestEntityTooLarge)
		return
	}
	if !p.take(len(calls)) {
		p.refused.Add(1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, `{"error":{"code":-32005,"message":"too many requests"}}`, http.StatusTooManyRequests)
		return
	}
	p.calls.Add(int64(len(calls)))
	p.answer(w, calls, single)
}

func (p *provider) answer(w http.ResponseWriter, calls []call, single bool) {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, answerBuffer)
	defer out.Flush()
	open, end := "[", "]"
	if single {
		open, end = "", ""
	}

	for i := range calls {
		_, _ = out.WriteString(open)
		_, _ = out.WriteString(`{"jsonrpc":"2.0","id":`)
		_, _ = out.Write(calls[i].id)
		_, _ = out.WriteString(`,"`)
		for _, part := range p.result(&calls[i]) {
			_, _ = out.Write(part)
		}
		_, _ = out.WriteString(`}`)
		open = ","
	}
	_, _ = out.WriteString(end)
}

// answerBuffer is what an answer is collected in: longer results go out by themselves.
const answerBuffer = 64 << 10

// result returns the result or the error of a call, from its name's first letter on, in
// parts.
func (p *provider) result(c *call) [][]byte {
	text := ""
	if len(c.params) > 0 {
		text = unquoted(c.params[0])
	}

	switch c.method {
	case "eth_chainId":
		return ok(fmt.Appendf(nil, `"%#x"`, p.id))
	case "eth_blockNumber":
		return ok(fmt.Appendf(nil, `"%#x"`, p.head.Load()))
	case "eth_getBlockByNumber":
		return ok([]byte(p.header(text)))
	case "eth_getTransactionReceipt":
		return ok(p.receipt(text))
	case "eth_getLogs":
		return p.getLogs(c.params[0])
	case "eth_call":
		return p.call(c.params[0])
	}
	return refusal(-32601, "the method "+c.method+" does not exist")
}

func ok(result ...[]byte) [][]byte { return append([][]byte{[]byte(`result":`)}, result...) }

func refusal(code int, message string) [][]byte {
	return [][]byte{fmt.Appendf(nil, `error":{"code":%d,"message":%q}`, code, message)}
}

func (p *provider) getLogs(param json.RawMessage) [][]byte {
	var q struct{ FromBlock, ToBlock, BlockHash string }
	_ = json.Unmarshal(param, &q)
	var from, to uint64
	if q.BlockHash != "" {
		return p.logsByHash(q.BlockHash)
	}
	_, errFrom := fmt.Sscanf(q.FromBlock, "0x%x", &from)
	_, errTo := fmt.Sscanf(q.ToBlock, "0x%x", &to)
	switch {
	case errFrom != nil || errTo != nil || to < from:
		return refusal(-32602, "invalid block range")
	case to-from+1 > p.span:
		return refusal(-32600, fmt.Sprintf("up to a %d block range", p.span))
	}

	logs, fits := p.logsOf(from, to, p.results)
	if !fits {
		return refusal(-32005, fmt.Sprintf("query returned more than %d results", p.results))
	}
	return ok(logs...)
}

// logsByHash returns the logs of one of the newest blocks.
func (p *provider) logsByHash(hash string) [][]byte {
	head := p.head.Load()
	for n := head; n+256 > head && n > 0; n-- {
		if hashOf(n).String() == hash {
			logs, _ := p.logsOf(n, n, p.results)
			return ok(logs...)
		}
	}
	return refusal(-32000, "unknown block")
}

// call answers the functions that describe a token.
func (p *provider) call(param json.RawMessage) [][]byte {
	var q struct{ To, Data string }
	_ = json.Unmarshal(param, &q)
	to, err := market.ParseAddress(q.To)
	t, known := p.tokens[to]
	if err != nil || !known {
		return refusal(3, "execution reverted")
	}

	switch q.Data {
	case topic("symbol()").String()[:10]:
		return textResult(t.Symbol)
	case topic("name()").String()[:10]:
		return textResult(t.Name)
	case topic("decimals()").String()[:10]:
		if t.DecimalsKnown() {
			return ok(fmt.Appendf(nil, `"%s"`, number(int64(t.Decimals))))
		}
	}
	return refusal(3, "execution reverted")
}

// textResult is a string as contracts return it.
func textResult(t texts.Text) [][]byte {
	s, known := t.Get()
	if !known {
		return refusal(3, "execution reverted")
	}
	padding := strings.Repeat("\x00", (32-len(s)%32)%32)
	data := append(words(number(32), number(int64(len(s)))), s+padding...)
	return ok(append(appendHex([]byte{'"'}, data), '"'))
}
