package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Run is everything that one run of the suite measured: what NDJSON holds line
// by line, and what the report draws.
type Run struct {
	Settings  Settings   `json:"settings"`
	Machine   Machine    `json:"machine"`
	Corpus    Corpus     `json:"corpus"`
	Scenarios []Scenario `json:"scenarios"`
	Figures   []Figure   `json:"figures"`
	Units     Units      `json:"units"`
	Cut       string     `json:"cut,omitempty"` // why it ended before everything was measured; empty: it did not
}

// Settings are what a run was asked to do.
type Settings struct {
	Began       string  `json:"began"` // RFC 3339
	Target      string  `json:"target"`
	Connections int     `json:"connections"`
	Rounds      int     `json:"rounds"`
	Seconds     float64 `json:"seconds"` // of one measurement
	Keys        int     `json:"keys"`
	Accounts    int     `json:"accounts"`
	Seed        uint64  `json:"seed"`
	Pinned      string  `json:"pinned"`  // which cores serve and which ask
	Command     string  `json:"command"` // the command line, without the key
	// Unknown is what could not be learnt of a node that is not the suite's own.
	Unknown []string `json:"unknown,omitempty"`
}

// Machine is where it was measured.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Memory  int64  `json:"memoryBytes"`
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// FullSize is the size of a chain that sized goals are about. Smaller corpora
// give figures, but of another thing: the table says so.
const FullSize = 1_000_000

// Corpus is what was asked about.
type Corpus struct {
	Genesis      string  `json:"genesis,omitempty"` // tells it from others of its size
	Positions    int64   `json:"positions"`
	Open         int64   `json:"open"`
	Pools        int64   `json:"pools"`
	Transactions int64   `json:"transactions"`
	Chains       []Chain `json:"chains"`
}

// Chain is one chain's part of the corpus.
type Chain struct {
	ID        int64 `json:"chainId"`
	Positions int64 `json:"positions"`
	Open      int64 `json:"open,omitempty"`
	Pools     int64 `json:"pools"`
}

// Units is the sum of what should have been charged and of what was.
type Units struct {
	Expected int64 `json:"expected"` // by routes and statuses
	Answered int64 `json:"answered"` // by the answers' headers
	Billed   int64 `json:"billed"`   // by the accounts; -1: not known
}

// Measure is one side of a scenario: the node, or its limit. Of several turns it is the one
// whose throughput is the median, or whose p99 is, of an open loop. Throughput and latencies
// are those of good answers (2xx) alone.
type Measure struct {
	PerSecond    float64      `json:"perSecond"`
	MBPerSecond  float64      `json:"mbPerSecond"`     // of bodies
	ServerMicros float64      `json:"serverCpuMicros"` // CPU an answer; 0: not known
	ClientMicros float64      `json:"clientCpuMicros"` // 0: there was no answer
	ClientBusy   float64      `json:"clientBusy"`      // 1: the client was at its limit
	BodyBytes    int          `json:"bodyBytes"`
	Requests     uint64       `json:"requests"`
	Refused      uint64       `json:"refused"` // other answers, in the same time
	Latency      []Percentile `json:"latency"`
	// ClientLate is how late the client was, at most, with requests and answers: what it may
	// have added to their latency.
	ClientLate []Percentile `json:"clientLate"`
}

// Percentile is one point of a latency distribution.
type Percentile struct {
	Percent float64 `json:"percent"`
	Micros  int64   `json:"micros"`
}

// At returns the latency at a percentile, in milliseconds; 0: not measured.
func (m *Measure) At(percent float64) float64 { return millisAt(m.Latency, percent) }

func millisAt(points []Percentile, percent float64) float64 {
	for _, p := range points {
		if p.Percent >= percent {
			return float64(p.Micros) / 1e3
		}
	}
	return 0
}

// Answers is what the answers to a load add up to, warm-ups included.
type Answers struct {
	Statuses   map[int]uint64 `json:"statusCounts"` // how many answers had each
	Failures   uint64         `json:"failures"`     // answers with a status that was not expected
	Unanswered uint64         `json:"unanswered"`   // the connection broke, none was left, or no answer ever came
	Unsent     uint64         `json:"unsent"`       // due in an open loop, and found no connection in time
	Reopened   uint64         `json:"reopened"`     // connections that the server closed between requests
	Free       uint64         `json:"free"`         // answers that were not whole, and cost nothing
	Checked    uint64         `json:"checked"`      // answers that were read
	Wrong      uint64         `json:"wrong"`        // those of them that were not right
	Problems   []string       `json:"problems"`     // the first few, each once
}

// maxProblems is enough: the first of them tell what is wrong.
const maxProblems = 8

// Note keeps a problem.
func (a *Answers) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(a.Problems) < maxProblems && !slices.Contains(a.Problems, text) {
		a.Problems = append(a.Problems, text)
	}
}

// Add adds the answers to another load.
func (a *Answers) Add(o *Answers) {
	if a.Statuses == nil {
		a.Statuses = map[int]uint64{}
	}
	for status, n := range o.Statuses {
		a.Statuses[status] += n
	}

	a.Failures += o.Failures
	a.Unanswered += o.Unanswered
	a.Unsent += o.Unsent
	a.Reopened += o.Reopened
	a.Free += o.Free
	a.Checked += o.Checked
	a.Wrong += o.Wrong
	for _, p := range o.Problems {
		a.Note("%s", p)
	}
}

// Bad is how many answers failed, never came or were wrong.
func (a *Answers) Bad() uint64 { return a.Failures + a.Unanswered + a.Wrong }

// Scenario is one thing that was measured.
type Scenario struct {
	Name        string   `json:"name"`
	What        string   `json:"what"`
	List        string   `json:"list,omitempty"` // digest of a list of paths; empty: not known, or none
	Connections int      `json:"connections"`
	Rate        float64  `json:"rate"`   // requests a second of an open loop; 0: closed
	Rounds      int      `json:"rounds"` // turns of each side
	Node        Measure  `json:"node"`
	Limit       *Measure `json:"limit"`          // null: none
	Comparison  string   `json:"comparison"`     // what the limit is; empty: the constant handler
	Peer        string   `json:"peer,omitempty"` // the database that the limit is; empty: none
	Ratio       float64  `json:"ratio"`          // of throughputs, median of the turns
	RatioCPU    float64  `json:"ratioCpu"`       // of the CPU an answer, the limit's by the node's
	Spread      float64  `json:"spread"`         // half the range in which Ratio is in 95 of 100 cases, by it
	Other       float64  `json:"other"`          // cores that other processes used meanwhile
	CacheShare  float64  `json:"cacheShare"`
	Answers              // of the node
	Series      []Point  `json:"series"`
	Refreshes   []Moment `json:"refreshes"`
	Values      []Value  `json:"values"`        // what else was measured
	Cut         bool     `json:"cut,omitempty"` // it ended before everything of it was measured
}

// Asked reports whether anything was asked, whatever became of it.
func (s *Scenario) Asked() bool {
	return s.Node.Requests+s.Node.Refused+s.Unanswered+s.Unsent > 0 || len(s.Statuses) > 0
}

// repeated reports whether several turns were compared.
func (s *Scenario) repeated() bool { return s.Limit != nil && s.Rounds > 1 }

// PlusMinus is how well the turns tell the ratio; one turn says nothing of that.
func (s *Scenario) PlusMinus() string {
	if !s.repeated() {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*s.Spread)
}

// Bounds beyond which a figure is flagged.
const (
	busyClient = 0.95 // of its cores: throughputs say nothing about the server
	otherCores = 0.10 // used by other processes
	lateClient = 0.20 // of the p99 of an open loop, which the client may have added itself
)

// Saturated reports whether the client was at its limit.
func (s *Scenario) Saturated() bool {
	return s.Node.ClientBusy > busyClient || s.Limit != nil && s.Limit.ClientBusy > busyClient
}

// Flags say what to keep in mind about the figures.
func (s *Scenario) Flags() (flags []string) {
	add := func(on bool, format string, args ...any) {
		if on {
			flags = append(flags, fmt.Sprintf(format, args...))
		}
	}

	add(s.Cut, "it was cut short: its figures are of what was measured until then")
	add(s.Saturated(), "the client was at its limit: compare CPU, not throughput")
	late := millisAt(s.Node.ClientLate, 99)
	add(s.Rate > 0 && late > lateClient*s.Node.At(99),
		"the client was up to %.2f ms late with 99 %% of the requests", late)
	add(s.Other > otherCores, "other processes used %.2f cores", s.Other)
	add(s.CacheShare > 0, "%.0f %% of the pages came from the page cache", 100*s.CacheShare)
	add(s.Node.Refused > 0, "%d answers were refused, which is no throughput", s.Node.Refused)
	add(len(s.Statuses) > 1, "answers by status: %s", s.statusText())
	add(s.Unsent > 0, "%d requests were due and found no connection", s.Unsent)
	add(s.Reopened > 0, "%d connections were closed by the server between requests, and opened again", s.Reopened)
	add(s.Free > 0, "%d answers were not whole, said so, and cost nothing", s.Free)
	return flags
}

// statusText counts the answers by status.
func (s *Scenario) statusText() string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		all = append(all, fmt.Sprintf("%d of %d", s.Statuses[status], status))
	}
	return strings.Join(all, ", ")
}

// Point is a tenth of a second.
type Point struct {
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	Slowest   int64   `json:"slowestMicros"`
}

// Moment is when a chain published.
type Moment struct {
	Seconds float64 `json:"seconds"`
	Chain   int64   `json:"chainId"`
}

// Value is a figure with a name of its own.
type Value struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Set keeps a value.
func (s *Scenario) Set(name string, v float64, unit string) {
	s.Values = append(s.Values, Value{name, v, unit})
}

// Value returns a named value; false when it was not measured.
func (s *Scenario) Value(name string) (float64, bool) {
	for _, v := range s.Values {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// Verdict is how a figure stands to its goal.
type Verdict string

const (
	Met         Verdict = "met"
	MetOnLess   Verdict = "met on less" // a smaller corpus than the goal is about
	Missed      Verdict = "missed"
	NotMeasured Verdict = "not measured"
)

// Figure is a row of the table of goals.
type Figure struct {
	Number    Row     `json:"number"`
	What      string  `json:"what"`
	Yardstick string  `json:"yardstick"`
	Goal      string  `json:"goal"`
	Reached   string  `json:"reached"`
	Verdict   Verdict `json:"verdict"`
}

// Row is the number of a row, such as 1z.
type Row string

// UnmarshalJSON also reads the plain numbers that older builds wrote.
func (r *Row) UnmarshalJSON(b []byte) error {
	*r = Row(strings.Trim(string(b), `"`))
	return nil
}

// Scenario returns a scenario by name; nil when the run has none.
func (r *Run) Scenario(name string) *Scenario {
	for i := range r.Scenarios {
		if r.Scenarios[i].Name == name {
			return &r.Scenarios[i]
		}
	}
	return nil
}

// Cannot is the problem of a question that a peer has no means to answer.
const Cannot = "cannot"
