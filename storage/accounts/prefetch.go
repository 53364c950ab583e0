//go:build amd64 || arm64

package accounts

import "unsafe"

// prefetch has the cache fetch the line at p. Unlike a load it is over at
// once, wherever the line is now.
//
//go:noescape
func prefetch(p unsafe.Pointer)
