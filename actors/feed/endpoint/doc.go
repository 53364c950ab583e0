// Package endpoint sends JSON-RPC calls to one URL of a provider and copes
// with what providers do: limits on the rate, on compute units and on the size
// of a batch; requests that fail, hang or answer a byte at a time; refusals in
// the bodies of error pages.
//
// An Endpoint answers calls or returns an *Error that says what kind of
// failure it was. It keeps what it was answered when a part of a batch fails,
// retries requests that failed in passing, and learns the rate and the batch
// size that the provider takes. Which endpoint to ask, and what an answer means,
// is the caller's business.
//
// A URL can hold a provider's key. No error, log line or metric names it: they
// carry the endpoint's configured name, and every text that came from outside
// is scrubbed of the URL's parts.
//
// The files, in reading order: endpoint (asking), inflight (asking for much at once),
// send (one HTTP request), limits (what answers may take), turns, answer, reader and skip
// (reading what came), errors (what went wrong), scrub (texts without keys), batch, pace,
// deadline (what was learnt), rest (staying away after failures), heads (subscriptions).
package endpoint
