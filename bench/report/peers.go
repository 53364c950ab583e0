package report

// Peers are databases that were asked the same questions about the same corpus
// as a node, in turns with it, behind a front like its own.
type Peers struct {
	Began     string `json:"began"` // RFC 3339
	Positions int64  `json:"positions"`
	Genesis   string `json:"genesis"` // of the corpus, which tells it from others of its size
	CPU       string `json:"cpu"`
	Pinned    string `json:"pinned"` // which cores serve and which ask
	Version   string `json:"version"`
	Results   []Peer `json:"results,omitempty"`
}

// Peer is one question to one peer.
type Peer struct {
	Peer     string   `json:"peer"`
	Version  string   `json:"version"`
	Question string   `json:"question"`
	Row      int      `json:"row"` // of the table of goals
	Equal    int      `json:"equal"`
	Node     PeerSide `json:"node"`
	Other    PeerSide `json:"other"`
	// RatioCPU says how many times the node's CPU time the peer takes, of the
	// same answers; the median of the rounds. Ratio is of throughputs, the
	// node's by the peer's.
	RatioCPU float64 `json:"ratioCpu"`
	Ratio    float64 `json:"ratio"`
	// Why says why it was not measured; empty: it was.
	Why string `json:"why,omitempty"`
}

// Cannot is the Why of a question that a peer has no means to answer.
const Cannot = "cannot"

// PeerSide is what one of the two took.
type PeerSide struct {
	PerSecond float64 `json:"perSecond"`
	CPUMicros float64 `json:"cpuMicros"` // of a request, or of a refresh
	Median    int64   `json:"medianMicros"`
	BodyBytes int     `json:"bodyBytes"`
}
