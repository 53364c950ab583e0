// Package natstest starts NATS servers in the process of a test.
package natstest
