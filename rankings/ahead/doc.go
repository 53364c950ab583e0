// Package ahead asks the processor for memory that is read soon.
//
// Rows of a large market are hardly ever in the processor's cache, and which of them are
// read cannot be predicted. A loop that asks for the rows of the next chunk before it computes
// those of this one waits for few of them. To read them ahead does not do: once a few reads
// are under way, the processor waits until the oldest is there before it computes anything.
// The same goes for the accounts of many keys: a request asks for its own while its key is
// hashed.
package ahead
