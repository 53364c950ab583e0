// Package storage keeps the chains in Pebble.
package storage
