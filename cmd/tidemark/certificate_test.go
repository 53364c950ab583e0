package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writePair writes a self-signed certificate of a name.
func writePair(t *testing.T, c TLSConfig, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	for path, block := range map[string]*pem.Block{
		c.Cert: {Type: "CERTIFICATE", Bytes: cert}, c.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	files := TLSConfig{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	if _, err := readCertificate(files, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a certificate without files was read")
	}
	writePair(t, files, "old.example")
	c, err := readCertificate(files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := c.listener(inner)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()

	presented := func(want string) {
		t.Helper()
		conn, err := tls.Dial("tcp", inner.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := conn.ConnectionState().PeerCertificates[0].DNSNames[0]; got != want {
			t.Errorf("the certificate is of %s; want %s", got, want)
		}
	}
	presented("old.example")

	// A file that is half written leaves the old pair in use.
	if err := os.WriteFile(files.Cert, []byte("-----BEGIN"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.renew() {
		t.Error("half a file is taken for a certificate")
	}
	presented("old.example")

	writePair(t, files, "new.example")
	if !c.renew() || c.renew() {
		t.Error("a new certificate is to be taken up once")
	}
	presented("new.example")
}
