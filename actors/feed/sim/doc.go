// Package sim is a simulated market.
package sim
