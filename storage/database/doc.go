// Package database is what the market store and the accounts' store both need of Pebble
// and of the directory that one of its databases is in.
//
//	Lock                  keeps other processes out            lock.go
//	SystemFS              syncs files without holding a thread system.go
//	ReplaceFile, ...      files that are whole after a crash   files.go
//	IsDamage, ...         damage of a database's files         damage.go
//	Open, NewLogger       end a process that Pebble cannot     failure.go
//	                      go on in
//	Iterate, ReadMarks    keys in a range                      read.go
//
// It knows no record of either store.
package database
