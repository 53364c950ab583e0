// Package report draws a run of the bench suite.
package report
