package database

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Whenever the machine stops, files that are moved are in one of the two directories.
func TestMovedFilesSurviveACrash(t *testing.T) {
	disk := vfs.NewCrashableMem()
	must(disk.MkdirAll("data", 0o700))
	names := []string{"1.log", "2.log"}
	for _, name := range names {
		must(ReplaceFile(disk, "data/"+name, []byte("x")))
	}
	must(SyncDir(disk, ""))

	crashes := 0
	check := func(errorfs.Op) error {
		crashes++
		crashed := disk.CrashClone(vfs.CrashCloneCfg{})
		for _, name := range names {
			_, before := crashed.Stat("data/" + name)
			_, after := crashed.Stat("aside/" + name)
			if before != nil && after != nil {
				t.Errorf("%s is gone after a crash before operation %d", name, crashes)
			}
		}
		return nil
	}
	must(MoveFiles(errorfs.Wrap(disk, errorfs.InjectorFunc(check)), names, "data", "aside"))
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if left, err := crashed.List("aside"); err != nil || len(left) != len(names) || crashes < 5 {
		t.Errorf("%v, %v are set aside after %d crashes; want %v", left, err, crashes, names)
	}
}

// must panics if what a test needs fails.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
