package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// tlsPoll is how often the files of a certificate are looked at: renewals
// happen weeks before the old certificate ends.
const tlsPoll = 10 * time.Second

// certificate is the key pair that the API presents. It is read again when one
// of its files changes; a pair that cannot be read leaves the old one in use.
type certificate struct {
	TLSConfig
	log  *slog.Logger
	pair atomic.Pointer[tls.Certificate]

	mu      sync.Mutex   // held while the files are read
	changed [2]time.Time // of the files that pair was read from
}

// readCertificate reads a key pair.
func readCertificate(c TLSConfig, log *slog.Logger) (*certificate, error) {
	certificate := &certificate{TLSConfig: c, log: log}
	return certificate, certificate.read()
}

func (c *certificate) read() error {
	changed, err := c.times()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return fmt.Errorf("cannot use tls.cert %s with tls.key %s: %w", c.Cert, c.Key, err)
	}

	c.pair.Store(&pair)
	c.changed = changed
	return nil
}

// times are when the files were changed last.
func (c *certificate) times() (times [2]time.Time, err error) {
	for i, path := range []string{c.Cert, c.Key} {
		info, err := os.Stat(path)
		if err != nil {
			return times, fmt.Errorf("cannot read the certificate: %w", err)
		}
		times[i] = info.ModTime()
	}
	return times, nil
}

// watch takes up changed files until ctx ends.
func (c *certificate) watch(ctx context.Context) {
	for poll := time.Tick(tlsPoll); ; {
		select {
		case <-ctx.Done():
			return
		case <-poll:
			c.renew()
		}
	}
}

// renew reads the pair again if a file changed, and reports whether another one is in use.
func (c *certificate) renew() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if times, err := c.times(); err == nil && times == c.changed {
		return false
	}

	if err := c.read(); err != nil {
		c.log.Warn("the certificate changed and cannot be used; the old one stays in use", "error", err)
		return false
	}
	c.log.Info("a new certificate is in use", "file", c.Cert)
	return true
}

// listener speaks TLS on l.
func (c *certificate) listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.pair.Load(), nil
		},
	})
}
