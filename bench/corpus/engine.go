package corpus

import (
	"encoding/json"
	"time"

	"tidemark/actors/feed/sim"
)

// Engine is what a node of the bench is given beside its configuration: what
// no operator sets. The zero value is any node.
type Engine struct {
	Crowd sim.Crowd `json:"crowd"`
	// Behind is how much later than their own times blocks come, so that a
	// corpus of any age goes on where its history ended.
	Behind time.Duration `json:"behind,omitempty"`
	// Brisk: minutes of the chains pass in a refresh, and move the price of
	// every native currency.
	Brisk bool `json:"brisk,omitempty"`
	// Calm: a hundredth of the pools trades in every refresh, and no price
	// that others depend on moves.
	Calm bool `json:"calm,omitempty"`
	// NoPageCache: every page is rendered for whoever asks.
	NoPageCache bool `json:"noPageCache,omitempty"`
}

// String is the Engine as `tidemark bench node --engine` takes it.
func (e *Engine) String() string {
	b, err := json.Marshal(e)
	if err != nil {
		panic("BUG: an engine that cannot be encoded: " + err.Error())
	}
	return string(b)
}

// ParseEngine reads what String wrote; nothing is the zero Engine.
func ParseEngine(text string) (e Engine, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &e)
	}
	return e, err
}
