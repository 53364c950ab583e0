package report

import (
	"fmt"
	"html"
)

// appendFigures appends the table of goals.
func appendFigures(dst []byte, run *Run) []byte {
	if len(run.Figures) == 0 {
		return dst
	}
	met, less, missed := 0, 0, 0
	for _, f := range run.Figures {
		switch f.Verdict {
		case Met:
			met++
		case MetOnLess:
			less++
		case Missed:
			missed++
		}
	}
	dst = fmt.Appendf(dst, "<h2>Figures <small>%d met, %d met on a smaller corpus, %d missed, "+
		"%d not measured here</small></h2>\n"+
		"<div class=\"scroll\"><table class=\"figures\">\n"+
		"<tr><th class=\"n\">#</th><th></th><th>what</th>"+
		"<th>reached</th><th>goal</th></tr>\n",
		met, less, missed, len(run.Figures)-met-less-missed)
	for _, f := range run.Figures {
		class := "none"
		switch f.Verdict {
		case Met:
			class = "met"
		case Missed:
			class = "missed"
		}
		dst = fmt.Appendf(dst, "<tr><td class=\"n\">%d</td><td class=\"%s\">%s</td>"+
			"<td>%s</td><td>%s</td><td>%s</td></tr>\n", f.Number, class, f.Verdict,
			html.EscapeString(f.What), html.EscapeString(f.Reached), html.EscapeString(f.Goal))
	}
	return append(dst, "</table></div>\n"...)
}

// appendSummary appends a row for every scenario under load.
func appendSummary(dst []byte, run *Run) []byte {
	dst = append(dst, "<h2>Scenarios</h2>\n<div class=\"scroll\"><table>\n<tr><th>scenario</th>"...)
	for _, h := range []string{
		"of limit", "by CPU", "± rounds", "requests/s", "server µs", "client µs", "client busy",
		"body KB", "p50 ms", "p99 ms", "p99.9 ms", "failed",
	} {
		dst = fmt.Appendf(dst, "<th class=\"n\">%s</th>", h)
	}
	dst = append(dst, "</tr>\n"...)
	for i := range run.Scenarios {
		if s := &run.Scenarios[i]; s.Node.Requests > 0 {
			dst = summaryRow(dst, s)
		}
	}
	return append(dst, "</table></div>\n"...)
}

func summaryRow(dst []byte, s *Scenario) []byte {
	dst = append(text(append(dst, "<tr><td>"...), s.Name), "</td>"...)
	cell := func(format string, args ...any) {
		dst = append(fmt.Appendf(append(dst, "<td class=\"n\">"...), format, args...), "</td>"...)
	}
	if s.Limit != nil {
		cell("%.2f", s.Ratio)
		cell("%.2f", s.RatioCPU)
		cell("%.0f %%", 100*s.Spread)
	} else {
		dst = append(dst, "<td></td><td></td><td></td>"...)
	}
	m := &s.Node
	cell("%s", count(int64(m.PerSecond)))
	cell("%.1f", m.ServerMicros)
	cell("%.1f", m.ClientMicros)
	cell("%.0f %%", 100*m.ClientBusy)
	cell("%.1f", float64(m.BodyBytes)/1e3)
	for _, p := range []float64{50, 99, 99.9} {
		cell("%.2f", millis(m.At(p)))
	}
	if bad := s.Failures + s.Unanswered + s.Wrong; bad > 0 {
		dst = fmt.Appendf(dst, "<td class=\"n missed\">%d</td>", bad)
	} else {
		cell("0")
	}
	return append(dst, "</tr>\n"...)
}

func millis(micros int64) float64 { return float64(micros) / 1e3 }

// appendChanges appends what a baseline had.
func appendChanges(dst []byte, run, base *Run) []byte {
	dst = fmt.Appendf(dst, "<h2>Against the baseline <small>of %s, commit %s</small></h2>\n",
		html.EscapeString(base.Settings.Began), html.EscapeString(base.Machine.Commit))
	dst = append(dst, "<div class=\"scroll\"><table>\n<tr><th>scenario</th>"+
		"<th class=\"n\">of limit by CPU</th>"+
		"<th class=\"n\">was</th><th class=\"n\">change</th><th class=\"n\">p99 ms</th>"+
		"<th class=\"n\">was</th></tr>\n"...)
	for i := range run.Scenarios {
		now := &run.Scenarios[i]
		was := base.Scenario(now.Name)
		if was == nil || now.Node.Requests == 0 || was.Node.Requests == 0 {
			continue
		}
		dst = append(text(append(dst, "<tr><td>"...), now.Name), "</td>"...)
		if now.RatioCPU > 0 && was.RatioCPU > 0 {
			change, class := now.RatioCPU/was.RatioCPU-1, "better"
			if change < 0 {
				class = "worse"
			}
			dst = fmt.Appendf(dst, "<td class=\"n\">%.2f</td><td class=\"n\">%.2f</td>"+
				"<td class=\"n %s\">%+.0f %%</td>",
				now.RatioCPU, was.RatioCPU, class, 100*change)
		} else {
			dst = append(dst, "<td></td><td></td><td></td>"...)
		}
		dst = fmt.Appendf(dst, "<td class=\"n\">%.2f</td><td class=\"n\">%.2f</td></tr>\n",
			millis(now.Node.At(99)), millis(was.Node.At(99)))
	}
	return append(dst, "</table></div>\n"...)
}

// appendScenario appends a scenario with its plots and whatever else was
// measured.
func appendScenario(dst []byte, s, old *Scenario) []byte {
	dst = fmt.Appendf(dst, "<section>\n<h3>%s <small>%s</small></h3>\n",
		html.EscapeString(s.Name), html.EscapeString(s.What))
	dst = append(text(append(dst, "<p>"...), how(s)), "</p>\n"...)
	if s.Node.Requests > 0 {
		dst = append(dst, "<div class=\"plots\">\n"...)
		dst = appendLatency(dst, s, old)
		dst = appendThroughput(dst, s)
		dst = append(dst, "</div>\n"...)
	}
	if len(s.Values)+len(s.Problems) > 0 {
		dst = append(dst, "<ul>\n"...)
		for _, v := range s.Values {
			dst = fmt.Appendf(dst, "<li>%s: %.4g %s</li>\n",
				html.EscapeString(v.Name), v.Value, html.EscapeString(v.Unit))
		}
		for _, p := range s.Problems {
			dst = append(text(append(dst, "<li class=\"missed\">"...), p), "</li>\n"...)
		}
		dst = append(dst, "</ul>\n"...)
	}
	return append(dst, "</section>\n"...)
}

// how says in a sentence how a scenario was asked.
func how(s *Scenario) string {
	if s.Node.Requests == 0 {
		return ""
	}
	loop := "closed loop"
	if s.Rate > 0 {
		loop = fmt.Sprintf("open loop at %.0f requests a second, latency from the intended start", s.Rate)
	}
	line := fmt.Sprintf(
		"%d connections, %s; %s answers measured, %d of them read and checked, %d wrong.",
		s.Connections, loop, count(int64(s.Node.Requests)), s.Checked, s.Wrong)
	for _, status := range s.Statuses {
		line += fmt.Sprintf(" %d: %s.", status.Status, count(int64(status.Count)))
	}
	if s.CacheShare > 0 {
		line += fmt.Sprintf(" %.0f %% of the pages came from the page cache.", 100*s.CacheShare)
	}
	if s.Free > 0 {
		line += fmt.Sprintf(" %s answers were not whole, said so, and cost nothing.", count(int64(s.Free)))
	}
	if s.Unsent > 0 {
		line += fmt.Sprintf(" %s requests were due and found no connection.", count(int64(s.Unsent)))
	}
	return line
}
