package storage

// DiskStatus is what the disk lets a node do.
type DiskStatus string

const (
	// DiskOK: both stores take writes.
	DiskOK DiskStatus = "ok"
	// DiskSlow: they do, but a synced write takes seconds.
	DiskSlow DiskStatus = "slow"
	// DiskReadOnly: there is too little room for new market data.
	DiskReadOnly DiskStatus = "readonly"
	// DiskFull: there is none for accounts and charges either.
	DiskFull DiskStatus = "full"
)

// DiskStatuses are all of them.
var DiskStatuses = []DiskStatus{DiskOK, DiskSlow, DiskReadOnly, DiskFull}

// Disk is the disk under a node's data as it was last measured.
type Disk struct {
	Status    DiskStatus
	FreeBytes uint64
}
