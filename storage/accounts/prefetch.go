//go:build amd64 || arm64

package accounts

import "unsafe"

// prefetch starts to fetch the cache line at p and, unlike a load, does not wait
// for it.
//
//go:noescape
func prefetch(p unsafe.Pointer)
