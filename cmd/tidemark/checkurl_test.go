package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tidemark/actors/feed/sim"
	"tidemark/edge/consistency"
	"tidemark/edge/pages"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// serveMarket serves a small simulated market of so many chains.
func serveMarket(t *testing.T, chains, positions, pools int) *stage {
	return serveLimited(t, pages.DefaultLimits(), chains, positions, pools)
}

func serveLimited(t *testing.T, limits pages.Limits, chains, positions, pools int) *stage {
	s := overHTTP(newStage(t))
	s.limits = limits
	s.params.Stables = []market.Address{{0x01, 1}, {0x01, 2}, {0x01, 3}}
	s.params.WrappedNative = market.Address{0x02}
	for i, id := range []string{"1", "42161", "43114"}[:chains] {
		s.toChain([]string{id})
		s.at.chain.Prices = s.params
		source, err := sim.New(sim.Config{
			Chain: s.at.id, Seed: uint64(3 + i), Positions: positions, Pools: pools, Days: 35,
			Actions: 8 * positions, Genesis: simGenesis, StartBlock: 1, PositionManager: script.Manager,
			Stables: s.params.Stables, Wrapped: s.params.WrappedNative, Frozen: true,
		})
		s.must(err)
		s.answers = append(s.answers, source.Prices()...)
		s.follow(source)
	}

	s.publish()
	s.ask(s, "/health", "")
	return s
}

func checkServed(t *testing.T, url, key string) *consistency.Report {
	t.Helper()
	return checkSample(t, url, key, 0)
}

// checkSample looks at so many positions one by one; 0 is every one.
func checkSample(t *testing.T, url, key string, sample int) *consistency.Report {
	t.Helper()
	report, err := consistency.Check(t.Context(), consistency.Config{URL: url, Key: key, Sample: sample})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A market that nobody tampers with agrees with itself.
func TestCheckFindsNothing(t *testing.T) {
	s := serveMarket(t, 2, 150, 50)
	report := checkServed(t, s.url, s.key)
	for i := range report.Listed {
		t.Error(&report.Listed[i])
	}
	if report.Values < 100_000 || report.Positions != 300 || report.Pools != 100 {
		t.Errorf("%d values of %d positions and %d pools were compared", report.Values, report.Positions, report.Pools)
	}
}

// A node may count less far than others. The check is told how far.
func TestCheckTotalCap(t *testing.T) {
	limits := pages.DefaultLimits()
	limits.TotalCap = 30
	s := serveLimited(t, limits, 1, 150, 50)

	code, stdout, stderr := runCommand(t, "check", "--url", s.url, "--key", s.key, "--sample", "1", "--total-cap", "30")
	if code != 0 {
		t.Errorf("the check ended with %d: %s%s", code, stdout, stderr)
	}
}

// recording answers as a frozen node did, without it, and tells a lie here and
// there.
type recording struct {
	t         *testing.T
	url       string
	answers   map[string]*recorded
	positions []map[string]any // of chain 1
	pools     []map[string]any
	lies      []*lie
}

type recorded struct {
	status     int
	generation string
	body       []byte
}

// lie changes answers on purpose, in one way, and names the difference that has
// to be found.
type lie struct {
	rule, field string
	// The row that is changed wherever it stands: the first that is not taken.
	position, pool func(r map[string]any) bool
	// Or the answers whose path has this; PID and POOL stand for the row's id.
	path string
	// change is given the row, or the body.
	change func(m map[string]any)
	// status, when not 0, is answered instead.
	status int

	id string
}

func (r *recording) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path := q.URL.RequestURI()
	a := r.answers[path]
	if a == nil {
		a = r.record(path, q.Header.Get("KC-APIKey"))
		r.answers[path] = a
	}
	status, body := r.tell(path, a)
	w.Header().Set("X-Generation", a.generation)
	w.WriteHeader(status)
	w.Write(body)
}

// tell is an answer as the lies have it.
func (r *recording) tell(path string, a *recorded) (status int, body []byte) {
	var m map[string]any
	for _, l := range r.lies {
		if !l.isAbout(path, a.body) {
			continue
		}
		if l.status != 0 {
			return l.status, []byte(`{"error":"no such thing"}`)
		}
		if m == nil && json.Unmarshal(a.body, &m) != nil {
			return a.status, a.body // an array: no lie is about one
		}
		l.tell(m)
	}

	if m == nil {
		return a.status, a.body
	}

	changed, err := json.Marshal(m)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return a.status, changed
}

func (r *recording) record(path, key string) *recorded {
	request, err := http.NewRequest(http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Error(err)
		return &recorded{}
	}

	request.Header.Set("KC-APIKey", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Error(err)
		return &recorded{}
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Error(err)
	}
	return &recorded{response.StatusCode, response.Header.Get("X-Generation"), body}
}

// isAbout reports whether a lie changes an answer. A path that ends with $ is
// the end of the answer's.
func (l *lie) isAbout(path string, body []byte) bool {
	if l.path == "" {
		return !strings.Contains(path, "/charts") && !strings.Contains(path, "/explain") &&
			bytes.Contains(body, []byte(`"`+l.id+`"`))
	}
	part := strings.NewReplacer("PID", l.id, "POOL", l.id).Replace(l.path)
	if end, ok := strings.CutSuffix(part, "$"); ok {
		return strings.HasSuffix(path, end)
	}
	return strings.Contains(path, part)
}

// tell changes a body.
func (l *lie) tell(m map[string]any) {
	if l.path != "" {
		l.change(m)
		return
	}
	for _, row := range l.rows(m) {
		l.change(row)
	}
}

// rows are where a body has the row that the lie is about.
func (l *lie) rows(m map[string]any) (rows []map[string]any) {
	list, id := "positions", "positionId"
	if l.pool != nil {
		list, id = "pools", "poolId"
	}

	if m[id] == l.id && (list == "pools") == (m["positionId"] == nil) {
		return []map[string]any{m}
	}
	all, _ := m[list].([]any)
	for _, each := range all {
		if row, ok := each.(map[string]any); ok && row[id] == l.id {
			rows = append(rows, row)
		}
	}

	return rows
}

// aim chooses the row that every lie is about: another one for each that changes
// the row itself or the whole of an answer.
func (r *recording) aim(t *testing.T, lies []*lie) {
	taken := map[string]bool{}
	for _, l := range lies {
		rows, wants, id := r.positions, l.position, "positionId"
		if l.pool != nil {
			rows, wants, id = r.pools, l.pool, "poolId"
		}
		if wants == nil {
			continue
		}

		for _, row := range rows {
			if key := row[id].(string); l.id == "" && !taken[key] && wants(row) {
				l.id, taken[key] = key, l.path == "" || strings.HasSuffix(l.path, "$")
			}
		}

		if l.id == "" {
			t.Fatalf("no row for %s of %s", l.rule, l.field)
		}
	}
}

// load takes the rows from the answers so far.
func (r *recording) load() {
	for path, a := range r.answers {
		var m map[string]any
		if json.Unmarshal(a.body, &m) != nil || !strings.Contains(path, "chainId=1&") || !strings.Contains(path, "limit=100") {
			continue
		}

		take := func(list string, to *[]map[string]any) {
			all, _ := m[list].([]any)
			for _, row := range all {
				*to = append(*to, row.(map[string]any))
			}
		}

		switch {
		case strings.HasPrefix(path, "/v1/pools?chainId=1&minTvlUsd=0&includeRisky=true&limit=100"):
			take("pools", &r.pools)
		case strings.Contains(path, "sort=nft_id_asc") && strings.Contains(path, "minValueUsd=0") &&
			strings.HasPrefix(path, "/v1/positions?chainId=1&"):
			take("positions", &r.positions)
		}
	}
}

// Every rule notices an answer that was made wrong on purpose.
func TestCheckNotices(t *testing.T) {
	if testing.Short() {
		t.Skip("checks a market eight times")
	}
	t.Parallel()
	s := serveMarket(t, 1, 80, 28)
	batches := [][]*lie{
		rowLies(), slices.Concat(priceLies(), hourLies()), poolLies(), listLies(), historyLies(), chartLies(),
		slices.Concat(explainLies(), routeLies()),
	}
	clean, server := noticesLies(t, s, batches...)
	for i := range clean.Listed {
		t.Error(&clean.Listed[i])
	}

	rules := map[string]bool{}
	for _, l := range slices.Concat(batches...) {
		rules[l.rule] = true
	}
	for rule := range clean.Rules {
		if !rules[rule] {
			t.Errorf("no lie is told to the rule %q", rule)
		}
	}
	checkExits(t, server, s.key)
}

// noticesLies checks a node that tells lies, a batch of them at a time: each has
// to be found. It returns what is found without any, and the server of the lies.
func noticesLies(t *testing.T, s *stage, batches ...[]*lie) (*consistency.Report, *httptest.Server) {
	t.Helper()
	r := &recording{t: t, url: s.url, answers: map[string]*recorded{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	clean := checkServed(t, server.URL, s.key)
	r.load()

	for _, batch := range batches {
		r.aim(t, batch)
		r.lies = batch
		sample := 0
		if !slices.ContainsFunc(batch, (*lie).isOfOnePosition) {
			sample = 4
		}
		report := checkSample(t, server.URL, s.key, sample)
		for _, l := range batch {
			if !l.found(report) {
				t.Errorf("%s: nobody notices that %s is wrong in %s%s", l.rule, l.field, l.path, l.id)
			}
		}
	}
	return clean, server
}

// checkExits checks what the command line is told: 1 where values differ, 2
// where the check could not be done to its end.
func checkExits(t *testing.T, lying *httptest.Server, key string) {
	f := func(want int, args ...string) {
		t.Helper()
		if got := run(append([]string{"check", "--json", "--url", lying.URL}, args...)); got != want {
			t.Errorf("check %v exits with %d; want %d", args, got, want)
		}
	}
	f(exitFailed, "--key", key, "--sample", "1")
	f(2, "--key", key, "--requests", "9")
	lying.Close()
	f(2, "--key", key)
}

func (l *lie) found(report *consistency.Report) bool {
	for i := range report.Listed {
		d := &report.Listed[i]
		if d.Rule == l.rule && strings.Contains(d.Field, l.field) && strings.Contains(d.Route, l.id) {
			return true
		}
	}
	return false
}

// isOfOnePosition reports whether a lie is found where its position is looked at alone: in an
// answer about it, or in its row, which the sums of its history are held against.
func (l *lie) isOfOnePosition() bool {
	return strings.Contains(l.path, "PID") || slices.Contains([]string{"age", "now", "owner", "pnl at cost"}, l.rule)
}

// at returns the object that holds the last name of a path, and that name.
func at(m map[string]any, path string) (map[string]any, string) {
	for {
		name, rest, deeper := strings.Cut(path, ".")
		if !deeper {
			return m, name
		}
		m, path = m[name].(map[string]any), rest
	}
}

// set puts a value at a path.
func set(path string, v any) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		inner[name] = v
	}
}

// remove takes a field away.
func remove(path string) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		delete(inner, name)
	}
}

// raise makes a number larger by so much.
func raise(path string, by float64) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		x, _ := inner[name].(float64)
		inner[name] = x + by
	}
}

// flip turns a boolean.
func flip(path string) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		is, _ := inner[name].(bool)
		inner[name] = !is
	}
}

// longer writes a digit behind a string.
func longer(path string) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		inner[name] = fmt.Sprint(inner[name]) + "1"
	}
}

// The command that checks answers prints a report, and how far it is elsewhere; for programs
// it prints JSON alone. What cannot be finished has an exit code of its own.
func TestCheckCommand(t *testing.T) {
	s := serveMarket(t, 1, 150, 50)
	const unfinished = "tidemark: cannot finish the check: 40 requests are not enough\n"
	check := func(args ...string) (code int, stdout, stderr string) {
		t.Helper()
		return runCommand(t, append([]string{
			"check", "--url", s.url, "--key", s.key, "--sample", "1", "--requests", "40",
		}, args...)...)
	}

	code, report, progress := check()
	if code != exitUnfinished || !strings.HasSuffix(report, " values, 0 different\n") ||
		!strings.Contains(report, " 0 different: ") {
		t.Errorf("it ended with %d: %s", code, report)
	}
	if progress != "chain 1: lists of positions\n"+unfinished {
		t.Errorf("it tells of its progress %q", progress)
	}

	var found consistency.Report
	code, report, progress = check("--json")
	if err := json.Unmarshal([]byte(report), &found); code != exitUnfinished || err != nil || progress != unfinished ||
		found.Values == 0 || found.Different != 0 || found.Requests != 40 {
		t.Errorf("for programs it ended with %d: %s%s", code, report, progress)
	}
	if code, _, problem := check("--key", "tm_srv_none"); code != exitUnfinished || !strings.Contains(problem, "is the key right?") {
		t.Errorf("with another key it ended with %d: %s", code, problem)
	}
}
