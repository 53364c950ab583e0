package storage

// DiskStatus says which writes the disk allows.
type DiskStatus string

const (
	// DiskOK: both stores accept writes.
	DiskOK DiskStatus = "ok"
	// DiskSlow: both accept writes, but a synced write takes seconds.
	DiskSlow DiskStatus = "slow"
	// DiskReadOnly: there is too little space for new market data.
	DiskReadOnly DiskStatus = "readonly"
	// DiskFull: there is too little space for accounts and charges too.
	DiskFull DiskStatus = "full"
)

// DiskStatuses lists all statuses.
var DiskStatuses = []DiskStatus{DiskOK, DiskSlow, DiskReadOnly, DiskFull}

// HasRoom reports whether there is space for new market data.
func (s DiskStatus) HasRoom() bool { return s != DiskReadOnly && s != DiskFull }

// Disk is the disk under a node's data as it was last measured.
type Disk struct {
	Status    DiskStatus
	FreeBytes uint64
}
