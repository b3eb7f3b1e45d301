package ovsdb

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"
)

// TLSFiles are the files that ssl: remotes need, as options -p, -c and -C of the C tools.
type TLSFiles struct {
	PrivateKey  string
	Certificate string
	CACert      string
	// ServerName, if set, must be in the server's certificate. Otherwise any certificate signed by the CA is
	// accepted, as with the C tools: the name that ovs-pki puts in is the operator's choice, or missing.
	ServerName string
}

func (f TLSFiles) config() (*tls.Config, error) {
	if f.CACert == "" {
		return nil, &missingFile{"CA certificate", "-C"}
	}
	pem, err := os.ReadFile(f.CACert)
	if err != nil {
		return nil, fmt.Errorf("CA certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA certificate: %s holds no certificate", f.CACert)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The chain is verified below; only the host name is not.
		InsecureSkipVerify: true,
		VerifyConnection:   func(cs tls.ConnectionState) error { return verify(cs, roots, f.ServerName) },
		ServerName:         f.ServerName,
	}
	if f.PrivateKey != "" || f.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.Certificate, f.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("certificate and private key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
		// Sent even if the server names other CAs, so that its rejection shows the reason.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// verify checks chain, key usage and time, and the name if one is given.
func verify(cs tls.ConnectionState, roots *x509.CertPool, name string) error {
	if len(cs.PeerCertificates) == 0 {
		return fmt.Errorf("the server shows no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: between,
		DNSName:       name,
		CurrentTime:   time.Now(),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

type missingFile struct{ what, option string }

func (m *missingFile) Error() string { return fmt.Sprintf("ssl needs the %s (%s)", m.what, m.option) }
