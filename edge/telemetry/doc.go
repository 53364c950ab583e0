// Package telemetry is what operators watch a node with: the list of its metrics,
// a dashboard for Grafana, and alert rules for Prometheus with their tests.
//
//	metrics.go       every metric: name, type, labels, meaning
//	dashboard.json   to be imported into Grafana
//	rules.yml        alert rules
//	rules.test.yml   series and the alerts they must raise, for promtool
//	check            Prometheus itself against a node, for make telemetry-test
//
// The packages that measure make their metrics themselves, with literal names. A
// test compares what a node exposes with the list, and the list with the guide,
// the dashboard and the rules.
package telemetry
