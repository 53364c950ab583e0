package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tidemark/edge"
)

// changeable are the settings that a reload puts in force. Every other needs a
// restart: what is made at a start depends on it.
var changeable = []string{
	"drain", "log.level", "log.slow", "plans",
	"limits.freshness", "limits.total-cap", "limits.count-wait", "limits.scan-wait",
	"limits.transactions-wait", "limits.transactions-partial", "limits.transactions-max",
	"limits.pin", "limits.pins", "limits.export-rows", "limits.export-time", "limits.stream-window",
	"limits.connections", "limits.connections-per-address", "limits.connections-per-subnet",
	"limits.unsent-bytes", "limits.reader-min-rate",
}

// values are the texts of all settings by name; "plans" and "chain 1" stand for
// their tables.
func (l *loaded) values() map[string]string {
	values := map[string]string{}
	for _, s := range l.settings() {
		values[s.name] = s.text()
	}

	var text strings.Builder
	p := tablePrinter{Writer: &text}
	p.print("plans", "plans", reflect.ValueOf(l.Plans))
	values["plans"] = text.String()
	for i := range l.Chains {
		text.Reset()
		p.print("chains", "chains", reflect.ValueOf(l.Chains[i:i+1]))
		values[fmt.Sprintf("chain %d", l.Chains[i].ID)] = text.String()
	}
	return values
}

// reloadConfig loads the configuration again and puts in force what can change
// while the node runs. A mistake anywhere changes nothing.
func (n *node) reloadConfig() {
	n.reloads++
	log := n.log.With("reload", n.reloads) // no line is taken for a repeated one
	fresh, err := n.reload()
	if err == nil && n.replacesPlans(fresh) {
		err = n.registry.ReplacePlans(fresh.Plans)
	}
	if err != nil {
		log.Error("the configuration was not reloaded; the one in force stays",
			"file", cmp.Or(n.file, "none"), "error", err)
		n.metrics.refused.Inc()
		return
	}

	n.api.Apply(edge.Settings{
		Limits: fresh.Limits.Limits, Connections: fresh.Limits.Connections,
		Plans: n.registry.Plans(), Slow: fresh.Log.Slow,
	})
	setLevel(&n.level, fresh.Log.Level)
	n.Drain = fresh.Drain
	var changed []string
	if n.certificate != nil && n.certificate.renew() {
		changed = append(changed, "the certificate")
	}
	n.metrics.reloaded.Inc()
	n.logChanges(log, fresh.values(), changed)
}

// replacesPlans reports whether a reload puts its plans in force. In a cluster another node
// may have replaced them since this one's file was read: plans that are as they were then
// say nothing new.
func (n *node) replacesPlans(fresh *loaded) bool {
	return n.cluster == nil || fresh.values()["plans"] != n.inForce["plans"]
}

// logChanges tells what a reload has changed, with what has changed already, and what needs a
// restart, and notes the values that are in force now.
func (n *node) logChanges(log *slog.Logger, fresh map[string]string, changed []string) {
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		before, after := n.inForce[name], fresh[name]
		switch {
		case before == after:
		case !slices.Contains(changeable, name):
			log.Warn("a changed setting needs a restart; the old value stays in force",
				"setting", name, "inForce", oneLine(before), "configured", oneLine(after))
		case name == "plans":
			changed = append(changed, name)
			n.inForce[name] = after
		default:
			changed = append(changed, fmt.Sprintf("%s %s (was %s)", name, after, before))
			n.inForce[name] = after
		}
	}
	for name := range n.inForce {
		if _, ok := fresh[name]; !ok {
			log.Warn("a chain that is no longer configured runs until a restart", "setting", name)
		}
	}

	log.Info("configuration reloaded", "file", cmp.Or(n.file, "none"),
		"changed", cmp.Or(strings.Join(changed, ", "), "nothing"))
}

// oneLine shortens a value for a log line. Addresses can hold a provider's key,
// so that neither they nor the tables of chains are shown.
func oneLine(text string) string {
	switch {
	case strings.Contains(text, "\n"):
		return "a table"
	case strings.Contains(text, "://"):
		return "an address"
	}
	return cmp.Or(text, "none")
}
