// Package disktest has the disks that tests of the stores run on: disks that fail, that are
// read-only, or whose files are damaged.
package disktest
