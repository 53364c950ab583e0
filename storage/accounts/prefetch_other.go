//go:build !amd64 && !arm64

package accounts

import "unsafe"

func prefetch(unsafe.Pointer) {}
