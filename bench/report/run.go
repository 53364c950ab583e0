package report

// Run is everything that one run of the suite measured: what NDJSON holds line
// by line, and what the report draws.
type Run struct {
	Settings  Settings   `json:"settings"`
	Machine   Machine    `json:"machine"`
	Corpus    Corpus     `json:"corpus"`
	Scenarios []Scenario `json:"scenarios"`
	Figures   []Figure   `json:"figures"`
	Peers     *Peers     `json:"peers,omitempty"`
	Units     Units      `json:"units"`
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
	Checked     string  `json:"checked"` // what the load generator was compared with
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

// Corpus is what was asked about.
type Corpus struct {
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
	Open      int64 `json:"open"`
	Pools     int64 `json:"pools"`
}

// Units is the sum of what should have been charged and of what was.
type Units struct {
	Expected int64 `json:"expected"` // by routes and statuses
	Answered int64 `json:"answered"` // by the answers' headers
	Billed   int64 `json:"billed"`   // by the accounts; -1: not known
}

// Measure is one side of a scenario: the node, or the limit beside it. Of
// several rounds it is the one whose throughput is the median.
type Measure struct {
	PerSecond    float64      `json:"perSecond"`
	ServerMicros float64      `json:"serverCpuMicros"` // CPU a request; 0: not known
	ClientMicros float64      `json:"clientCpuMicros"`
	ClientBusy   float64      `json:"clientBusy"` // 1: the client was at its limit
	BodyBytes    int          `json:"bodyBytes"`
	Requests     uint64       `json:"requests"`
	Latency      []Percentile `json:"latency"`
}

// Percentile is one point of a latency distribution.
type Percentile struct {
	Percent float64 `json:"percent"`
	Micros  int64   `json:"micros"`
}

// At returns the latency at a percentile, in microseconds; 0 when it was not
// measured.
func (m *Measure) At(percent float64) int64 {
	for _, p := range m.Latency {
		if p.Percent >= percent {
			return p.Micros
		}
	}
	return 0
}

// Scenario is one thing that was measured.
type Scenario struct {
	Name        string   `json:"name"`
	What        string   `json:"what"`
	Connections int      `json:"connections"`
	Rate        float64  `json:"rate"` // requests a second of an open loop; 0: closed
	Node        Measure  `json:"node"`
	Limit       *Measure `json:"limit"`  // null: none
	Beside      string   `json:"beside"` // what the limit is; empty: the constant handler
	Ratio       float64  `json:"ratio"`  // of throughputs, median of the rounds
	RatioCPU    float64  `json:"ratioCpu"`
	Spread      float64  `json:"spread"` // of the rounds: (largest - smallest) / median
	Other       float64  `json:"other"`  // cores that other processes used meanwhile
	CacheShare  float64  `json:"cacheShare"`
	Statuses    []Status `json:"statuses"`
	Failures    uint64   `json:"failures"`
	Unanswered  uint64   `json:"unanswered"`
	Free        uint64   `json:"free"` // answers that were not whole, and cost nothing
	Unsent      uint64   `json:"unsent"`
	Checked     uint64   `json:"checked"`
	Wrong       uint64   `json:"wrong"`
	Problems    []string `json:"problems"`
	Series      []Point  `json:"series"`
	Refreshes   []Moment `json:"refreshes"`
	Values      []Value  `json:"values"` // what else was measured
}

// Status is how many answers had a status.
type Status struct {
	Status int    `json:"status"`
	Count  uint64 `json:"count"`
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

// The verdicts.
const (
	Met         Verdict = "met"
	MetOnLess   Verdict = "met on less" // a smaller corpus than the goal is about
	Missed      Verdict = "missed"
	NotMeasured Verdict = "not measured"
)

// Figure is a row of the table of goals.
type Figure struct {
	Number  int     `json:"number"`
	What    string  `json:"what"`
	Goal    string  `json:"goal"`
	Reached string  `json:"reached"`
	Verdict Verdict `json:"verdict"`
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
