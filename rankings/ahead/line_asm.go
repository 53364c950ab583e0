//go:build amd64 || arm64

package ahead

import "unsafe"

//go:noescape
func line(p unsafe.Pointer)
