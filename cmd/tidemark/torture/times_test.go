package torture

import (
	"regexp"
	"slices"
	"strconv"
	"time"
)

// nodeTimes are the times that answers about positions took the node, by its own
// histogram: how many took at most so long. It has buckets that end at the bounds of
// refusals.
type nodeTimes []bucket

type bucket struct {
	most  time.Duration
	count int64
}

var timesBucket = regexp.MustCompile(
	`tidemark_edge_request_seconds_bucket\{route="positions",status="(\d+)",le="([^"]+)"\} (\d+)`)

// nodeTimes reads the times of the answers with a status.
func (o *overload) nodeTimes(status int) (times nodeTimes) {
	o.t.Helper()
	_, text, err := get(o.ops+"/metrics", "")
	if err != nil {
		o.t.Fatal(err)
	}

	for _, found := range timesBucket.FindAllStringSubmatch(text, -1) {
		if found[1] != strconv.Itoa(status) {
			continue
		}
		seconds, _ := strconv.ParseFloat(found[2], 64)
		count, _ := strconv.ParseInt(found[3], 10, 64)
		most := time.Duration(min(seconds, time.Hour.Seconds()) * float64(time.Second))
		times = append(times, bucket{most, count})
	}
	return times
}

// since returns the times that came after earlier ones.
func (times nodeTimes) since(before nodeTimes) nodeTimes {
	after := slices.Clone(times)
	for i := range before {
		after[i].count -= before[i].count
	}
	return after
}

// within counts the times up to one at which a bucket ends.
func (times nodeTimes) within(most time.Duration) (n int64) {
	for _, b := range times {
		if b.most <= most {
			n = max(n, b.count)
		}
	}
	return n
}

// quantile is a time, taken as evenly spread within its bucket.
func (times nodeTimes) quantile(q float64) time.Duration {
	want := q * float64(times.within(time.Hour))
	var below bucket

	for _, b := range times {
		if float64(b.count) >= want && b.count > below.count {
			part := (want - float64(below.count)) / float64(b.count-below.count)
			return below.most + time.Duration(part*float64(b.most-below.most))
		}
		below = b
	}
	return 0
}
