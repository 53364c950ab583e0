//go:build !linux

package database

const (
	opSync     = 0
	opSyncData = 0
)

// SyncsAside reports that a thread waits for every sync here.
func SyncsAside() bool { return false }

// syncAside reports that nothing was done.
func syncAside(uintptr, uint16) (taken bool, err error) { return false, nil }
