//go:build lab

package ovsdb_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// startTLS serves over TLS and returns the address.
func startTLS(t *testing.T, host, key, certificate, ca string) string {
	t.Helper()
	address := ovsdbtest.Address(t, host)
	ovsdbtest.Start(t, ovsdbtest.Northbound, "--remote="+ovsdbtest.Passive("ssl", address),
		"--private-key="+key, "--certificate="+certificate, "--ca-cert="+ca)
	return "ssl:" + address
}

func TestTLS(t *testing.T) {
	pki := ovsdbtest.NewPKI(t)
	other := ovsdbtest.NewPKI(t)
	serverKey, serverCert := pki.Sign("server", "switch")
	clientKey, clientCert := pki.Sign("client", "switch")
	foreignKey, foreignCert := other.Sign("foreign", "switch")
	ca := pki.CA("switch")
	good := startTLS(t, "127.0.0.1", serverKey, serverCert, ca)
	good6 := startTLS(t, "::1", serverKey, serverCert, ca)

	past := time.Now().Add(-time.Hour)
	oldKey, oldCert := sign(t, pki, "old", past.Add(-time.Hour), past)
	earlyKey, earlyCert := sign(t, pki, "early", time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
	clientKey2, clientCert2 := sign(t, pki, "clientonly", past, time.Now().Add(time.Hour), x509.ExtKeyUsageClientAuth)
	expired := startTLS(t, "127.0.0.1", oldKey, oldCert, ca)
	early := startTLS(t, "127.0.0.1", earlyKey, earlyCert, ca)
	wrongUse := startTLS(t, "127.0.0.1", clientKey2, clientCert2, ca)
	plain := ovsdbtest.Address(t, "127.0.0.1")
	ovsdbtest.Start(t, ovsdbtest.Northbound, "--remote="+ovsdbtest.Passive("tcp", plain))

	files := ovsdb.TLSFiles{PrivateKey: clientKey, Certificate: clientCert, CACert: ca}
	with := func(change func(*ovsdb.TLSFiles)) ovsdb.TLSFiles {
		f := files
		change(&f)
		return f
	}
	tests := []struct {
		name, remote string
		files        ovsdb.TLSFiles
		err, hint    string // no error at all if empty
	}{
		{"good", good, files, "", ""},
		{"good over IPv6", good6, files, "", ""},
		{"server name right", good, with(func(f *ovsdb.TLSFiles) { f.ServerName = "server" }), "", ""},
		{"server name wrong", good, with(func(f *ovsdb.TLSFiles) { f.ServerName = "elsewhere" }),
			"not for the name elsewhere", "give the name that it holds (server)"},
		{"wrong CA", good, with(func(f *ovsdb.TLSFiles) { f.CACert = other.CA("switch") }),
			"not signed by the CA of " + other.CA("switch"), "(-C)"},
		{"the other CA of the same PKI", good, with(func(f *ovsdb.TLSFiles) { f.CACert = pki.CA("controller") }),
			"not signed by the CA", "(-C)"},
		{"server expired", expired, files, "the server's certificate expired at " + past.UTC().Format(time.RFC3339), "new certificate"},
		{"server not valid yet", early, files, "is valid from", "clock"},
		{"certificate of a client", wrongUse, files, "not fit for a server", ""},
		{"no client certificate", good, with(func(f *ovsdb.TLSFiles) { f.PrivateKey, f.Certificate = "", "" }),
			"the server wants a client certificate", "-p KEY and -c CERTIFICATE"},
		{"client of another CA", good, with(func(f *ovsdb.TLSFiles) { f.PrivateKey, f.Certificate = foreignKey, foreignCert }),
			"the server refused the client certificate", "signed by the CA that the server trusts?"},
		{"client expired", good, with(func(f *ovsdb.TLSFiles) { f.PrivateKey, f.Certificate = oldKey, oldCert }),
			"the server refused the client certificate", "expired at " + past.UTC().Format(time.RFC3339)},
		{"no TLS there", "ssl:" + plain, files, "the server closed the connection", "is it an ssl: port"},
		{"TLS there", "tcp:" + strings.TrimPrefix(good, "ssl:"), files, "", "ssl:"},
		{"silent", "ssl:" + silent(t), files, "no reply within the time limit", "stopped, busy"},
		{"CA file missing", good, with(func(f *ovsdb.TLSFiles) { f.CACert = "/nonexistent/ca.pem" }), "/nonexistent/ca.pem: no such file", "-C name must be there"},
		{"CA file empty", good, with(func(f *ovsdb.TLSFiles) { f.CACert = "/dev/null" }), "/dev/null holds no certificate", ""},
		{"key of another", good, with(func(f *ovsdb.TLSFiles) { f.PrivateKey = serverKey }), "private key", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: "OVN_Northbound", Remotes: test.remote, TLS: test.files, Timeout: 2 * time.Second})
			if err == nil {
				names(t, c)
				_ = c.Close()
			}
			if test.err == "" && test.hint == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *ovsdb.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			t.Logf("%v\nhint: %s", e, e.Hint)
			if !strings.Contains(e.Error(), test.err) || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("error %q, hint %q; want %q, %q", e, e.Hint, test.err, test.hint)
			}
		})
	}
}

// sign makes a certificate that ovs-pki cannot: one of another time or use.
func sign(t *testing.T, pki *ovsdbtest.PKI, name string, from, to time.Time, use ...x509.ExtKeyUsage) (key, certificate string) {
	t.Helper()
	block := func(path string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, rest := pem.Decode(text)
			if b == nil {
				t.Fatalf("no PEM in %s", path)
			}
			if strings.Contains(b.Type, "KEY") || b.Type == "CERTIFICATE" {
				return b.Bytes
			}
			text = rest
		}
	}
	ca, err := x509.ParseCertificate(block(pki.CA("switch")))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block(pki.CAKey("switch")))
	if err != nil {
		t.Fatal(err)
	}
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    from, NotAfter: to,
		ExtKeyUsage: use,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, own.Public(), parsed)
	if err != nil {
		t.Fatal(err)
	}
	write := func(suffix, kind string, der []byte) string {
		path := filepath.Join(pki.Dir, name+suffix)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("-key.pem", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(own)), write("-cert.pem", "CERTIFICATE", der)
}
