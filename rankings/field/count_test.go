package field

import "testing"

// A count that is larger than what follows is damage, also at the end of a record.
func TestCountsPastTheEnd(t *testing.T) {
	for n, ok := range []bool{true, true, true, false} {
		c := Reader([]byte{byte(n), 9, 9})
		got := c.Count("rows", 0)
		if good := !c.Failed() && got == n; good != ok || !ok && got != 0 {
			t.Errorf("a count of %d before 2 bytes: %d, failed %t", n, got, c.Failed())
		}
	}
	c := Reader([]byte{1})
	if c.Count("rows", 0); c.Done() == nil {
		t.Error("a count of 1 at the end of a record is no damage")
	}
}
