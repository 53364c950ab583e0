package report

import (
	"fmt"
	"html"
	"strings"
)

// AppendHTML appends the report of a run; base is an older run to compare
// with, or nil.
func AppendHTML(dst []byte, run, base *Run) []byte {
	dst = append(dst, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"+
		"<title>Tidemark bench</title>\n<style>"...)
	dst = append(dst, style...)
	dst = append(dst, "</style>\n</head>\n<body>\n<main>\n<h1>Tidemark bench</h1>\n"...)
	dst = appendFacts(dst, run)
	dst = appendFigures(dst, run)
	dst = appendOverview(dst, run, base)
	dst = appendSummary(dst, run)
	if base != nil {
		dst = appendChanges(dst, run, base)
	}
	for i := range run.Scenarios {
		var old *Scenario
		if base != nil {
			old = base.Scenario(run.Scenarios[i].Name)
		}
		dst = appendScenario(dst, &run.Scenarios[i], old)
	}
	dst = append(dst, "<p class=\"note\">Ratios are to a bare handler with a constant body "+
		"of the same size, asked in turns with the node by the same client over as many connections. "+
		"Absolute numbers are this machine's, at that hour.</p>\n"...)
	return append(dst, "</main>\n</body>\n</html>\n"...)
}

// text appends text that may hold anything.
func text(dst []byte, s string) []byte { return append(dst, html.EscapeString(s)...) }

// appendFacts says where, when and how.
func appendFacts(dst []byte, run *Run) []byte {
	s, m, c := &run.Settings, &run.Machine, &run.Corpus
	var chains []string
	for _, chain := range c.Chains {
		chains = append(chains, fmt.Sprintf("; chain %d: %s in %s pools",
			chain.ID, count(chain.Positions), count(chain.Pools)))
	}
	facts := [][2]string{
		{"began", s.Began},
		{"target", s.Target},
		{"corpus", fmt.Sprintf("%s positions, %s open, %s pools, %s transactions%s", count(c.Positions),
			count(c.Open), count(c.Pools), count(c.Transactions), strings.Join(chains, ""))},
		{"machine", fmt.Sprintf("%s, %d cores, %.1f GB, %s",
			m.CPU, m.Cores, float64(m.Memory)/1e9, m.Kernel)},
		{"build", fmt.Sprintf("%s, commit %s, %s", m.Version, m.Commit, m.Go)},
		{"settings", fmt.Sprintf("%d connections, %d rounds of %.3g s, %s keys of %s accounts, seed %d",
			s.Connections, s.Rounds, s.Seconds, count(int64(s.Keys)), count(int64(s.Accounts)), s.Seed)},
		{"cores", s.Pinned},
		{"generator", "compared with " + s.Checked},
		{"noise", noise(run)},
		{"units", units(&run.Units)},
	}
	if len(s.Unknown) > 0 {
		facts = append(facts, [2]string{"not known", strings.Join(s.Unknown, "; ")})
	}
	dst = append(dst, "<dl>\n"...)
	for _, f := range facts {
		dst = fmt.Appendf(dst, "<dt>%s</dt><dd>%s</dd>\n", f[0], html.EscapeString(f[1]))
	}
	return append(dst, "</dl>\n"...)
}

// noise is how far rounds were apart, and what else the machine did.
func noise(run *Run) string {
	var spread, other float64
	for i := range run.Scenarios {
		spread = max(spread, run.Scenarios[i].Spread)
		other = max(other, run.Scenarios[i].Other)
	}
	return fmt.Sprintf(
		"rounds of a scenario are at most %.0f %% apart; other processes used at most %.2f cores",
		100*spread, other)
}

func units(u *Units) string {
	if u.Billed < 0 {
		return fmt.Sprintf("%s expected, %s answered, billed is not known",
			count(u.Expected), count(u.Answered))
	}
	return fmt.Sprintf("%s expected, %s answered, %s billed: difference %d",
		count(u.Expected), count(u.Answered), count(u.Billed), u.Billed-u.Expected)
}

// narrowSpace stands between thousands and does not break a line.
const narrowSpace = '\u202f'

// count spells a number with spaces between thousands.
func count(n int64) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteRune(narrowSpace)
		}
		b.WriteRune(d)
	}
	return b.String()
}

// style has the colours twice and everything else once.
const style = `
:root { --paper: #ffffff; --ink: #1b1f24; --soft: #5b6570; --line: #d9dee4; --band: #f4f6f8;
  --node: #1f6feb; --limit: #8a939d; --base: #c2620a; --good: #1a7f37; --bad: #c62828;
  --mark: #b48ae0; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0f1317; --ink: #e6e9ec; --soft: #9aa4ae; --line: #2c343c; --band: #171c22;
    --node: #6aa8ff; --limit: #8b959f; --base: #f0a35c; --good: #56c46d; --bad: #ff7b72;
    --mark: #7d5bb0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
h2 small, h3 small { color: var(--soft); font-weight: normal; font-size: .85em; }
h3 { font-size: 1.05rem; margin: 0 0 .25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
.n { text-align: right; white-space: nowrap; }
.met { color: var(--good); } .missed { color: var(--bad); } .none { color: var(--soft); }
.worse { color: var(--bad); } .better { color: var(--good); }
section { border-top: 1px solid var(--line); margin-top: 1.5rem; padding-top: 1rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 1rem; }
figure { margin: 0; background: var(--band); border-radius: 6px; padding: .5rem; }
figcaption { color: var(--soft); font-size: .85rem; padding: 0 .25rem; }
.one { max-width: 560px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .strong { fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: 1; }
.l-node, .l-limit, .l-base { fill: none; stroke-width: 2; stroke-linejoin: round; }
.l-node { stroke: var(--node); } .l-limit { stroke: var(--limit); }
.l-base { stroke: var(--base); stroke-dasharray: 5 3; }
.l-slow { fill: none; stroke: var(--base); stroke-width: 1; opacity: .8; }
.b-node { fill: var(--node); } .b-base { fill: var(--base); }
.mark { stroke: var(--mark); stroke-width: 1.5; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 .4em;
  vertical-align: -.05em; }
.keyed { white-space: nowrap; }
.note { color: var(--soft); font-size: .9rem; margin-top: 2rem; }
ul { margin: .5rem 0; padding-left: 1.2rem; }
.figures td:nth-child(2) { white-space: nowrap; }
@media (max-width: 640px) {
  dl { display: block; }
  dd { margin-bottom: .35rem; }
  .figures tbody, .figures tr, .figures td { display: block; padding: 0; border: 0; text-align: left; }
  .figures tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .figures tr:first-child { display: none; }
  .figures td:nth-child(-n+2) { display: inline-block; margin-right: .5em; }
  .figures td:nth-child(4)::before { content: "reached "; color: var(--soft); }
  .figures td:nth-child(5)::before { content: "goal "; color: var(--soft); }
  svg text { font-size: 13px; }
}
`
