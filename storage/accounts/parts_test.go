package accounts

import (
	"testing"
	"time"
)

// TestParts checks an answer that is settled in parts: it is one request, each part
// is of its own time, and a part is refused when the month has too few units left.
func TestParts(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 5}, 5)
	now := testMonth.Start().UnixNano()
	ticket := b.Admit(k, now)
	for part := int64(1); part <= 2; part++ {
		b.Renew(&ticket, now+part)
		if v := b.Reserve(&ticket, 2); v != Granted || ticket.Now != now+part {
			t.Fatalf("part %d at %d: %d", part, ticket.Now, v)
		}
		if billed := b.Settle(&ticket, RoutePositionExport, 2); billed != 2 {
			t.Errorf("part %d: billed %d", part, billed)
		}
	}

	b.Renew(&ticket, now+3)
	if v := b.Reserve(&ticket, 2); v != OverQuota {
		t.Errorf("4 of 5 units are used: got %d; want OverQuota", v)
	}
	b.Settle(&ticket, RoutePositionExport, 0)
	tally, _ := k.Cell.Tally(testMonth)
	if got := tally.Routes[RoutePositionExport]; got != (Count{1, 4}) || tally.Lease != 4 {
		t.Errorf("used %+v, %d held; want one request and 4 units", got, tally.Lease)
	}

	// Units are not spent when nothing has been written for long, and terms may change.
	k.Cell.terms.Store(NewTerms(&Plan{ID: "q", MonthlyUnits: 100}, false))
	b.Renew(&ticket, now+int64(2*time.Hour))
	if v := b.Reserve(&ticket, 1); v != Unleased || ticket.Terms.Plan.ID != "q" {
		t.Errorf("after an hour without a flush: %d, plan %s", v, ticket.Terms.Plan.ID)
	}
}

// TestPartsAfterFullDisk checks that an answer is charged again once there is room for what
// it costs, though a part of it was served uncharged on a full disk.
func TestPartsAfterFullDisk(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 0)
	now := testMonth.Start().UnixNano()
	b.SetWhenFull(ServeUncharged)
	b.SetDiskFull(true)
	b.SetAlive(0)
	ticket := b.Admit(k, now)
	if v := b.Reserve(&ticket, 1); v != Granted {
		t.Fatalf("on a full disk: %d; want Granted", v)
	}
	if billed := b.Settle(&ticket, RouteStream, 1); billed != 0 {
		t.Errorf("on a full disk %d units are billed; want 0", billed)
	}

	b.SetDiskFull(false)
	b.SetAlive(now + int64(time.Hour))
	k.Cell.Open(testMonth, 100)
	b.Renew(&ticket, now+int64(time.Minute))
	if v := b.Reserve(&ticket, 1); v != Granted {
		t.Fatalf("afterwards: %d; want Granted", v)
	}
	if billed := b.Settle(&ticket, RouteStream, 1); billed != 1 {
		t.Errorf("afterwards %d units are billed; want 1", billed)
	}
}
