package ovsdb

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"
)

// failure explains an error of the network or the server to the operator, with the next step.
func (c *Client) failure(remote string, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Database: c.config.DB, Remote: strings.TrimSpace(remote)}
	x := c.explain(remote, err)
	e.Err, e.Hint = err, x.hint
	if x.said != "" {
		e.Err = &cause{x.said, err}
	}
	return e
}

// cause is a reworded error.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.err }

// explanation is an error reworded for the operator (empty to keep its own words) and the next step.
type explanation struct{ said, hint string }

func (c *Client) explain(remote string, err error) explanation {
	if errors.Is(err, ErrUnknownOutcome) {
		return explanation{hint: "read the rows back before trying again"}
	}
	if x, ok := c.explainTLS(err); ok {
		return x
	}
	unix := strings.HasPrefix(remote, "unix:") && c.config.Socket == nil
	var file *fs.PathError
	var dns *net.DNSError
	switch {
	case errors.As(err, &file):
		return explanation{hint: "the files that -p, -c and -C name must be there and readable"}
	case errors.Is(err, fs.ErrNotExist) && unix:
		return explanation{"no such socket", "is the server running on this host? `ls /run/ovn /run/openvswitch` shows its sockets; otherwise give tcp:HOST:PORT or ssl:HOST:PORT"}
	case errors.Is(err, syscall.EINVAL) && unix:
		return explanation{"the path is too long for a socket", "give a path of at most 107 bytes, by a symbolic link for instance"}
	case errors.Is(err, fs.ErrPermission):
		return explanation{"permission denied", "run as root, or give ssl:HOST:PORT with key, certificate and CA certificate"}
	case errors.Is(err, syscall.ECONNREFUSED) && unix:
		return explanation{"connection refused", "the socket is left over from a server that has ended: start the server again"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return explanation{"connection refused", "no server listens on that port: look at the Connection table of the database, and whether the server runs"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return explanation{"no route to the host", "is the address right, and in reach of this host?"}
	case errors.As(err, &dns) && dns.IsNotFound:
		return explanation{fmt.Sprintf("the name %s is not known", dns.Name), "give the address instead of the name"}
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return explanation{"no reply within the time limit", "the server is stopped, busy or cut off: try again with a longer timeout, or another member"}
	case errors.Is(err, ErrNotServed):
		return explanation{hint: "is this the address of the other database? 6641 is usually the Northbound, 6642 the Southbound"}
	case errors.Is(err, ErrNoLeader):
		return explanation{hint: "give the addresses of all members, or read from any with --no-leader-only"}
	case errors.Is(err, ErrTooLarge):
		return explanation{hint: "narrow the question, to one object for instance; ovnctl takes more with a larger --memory"}
	case errors.Is(err, errSyntax) && strings.HasPrefix(remote, "tcp:"):
		return explanation{hint: "is that an ssl: port?"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		hint := "the server ended or was restarted: try again"
		switch {
		case strings.HasPrefix(remote, "tcp:"):
			hint += "; or it is an ssl: port"
		case strings.HasPrefix(remote, "ssl:"):
			hint = "is it an ssl: port? " + c.certificateHint()
		}
		return explanation{"the server closed the connection", hint}
	}
	return explanation{}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// explainTLS explains errors of the TLS handshake.
func (c *Client) explainTLS(err error) (x explanation, ok bool) {
	files := c.config.TLS
	var missing *missingFile
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	switch {
	case errors.As(err, &missing):
		return explanation{hint: "give -p KEY -c CERTIFICATE -C CA-CERTIFICATE, as to the C tools"}, true
	case errors.As(err, &unknown):
		return explanation{fmt.Sprintf("the server's certificate is not signed by the CA of %s", files.CACert), "give the CA certificate that signed the server's (-C)"}, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return explanation{expiry(invalid), "give the server a new certificate, or correct the clock"}, true
	case errors.As(err, &invalid):
		return explanation{"the server's certificate is not fit for a server: " + invalid.Error(), ""}, true
	case errors.As(err, &name):
		return explanation{fmt.Sprintf("the server's certificate is not for the name %s", files.ServerName), nameHint(name.Certificate)}, true
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return c.explainAlert(op), true
	}
	return explanation{}, false
}

// nameHint lists the names in the certificate.
func nameHint(cert *x509.Certificate) string {
	if cert == nil || len(cert.DNSNames) == 0 {
		return "it holds no name at all: leave the server name out"
	}
	return fmt.Sprintf("give the name that it holds (%s), or leave the server name out", strings.Join(cert.DNSNames, ", "))
}

// expiry returns since or until when the certificate is invalid.
func expiry(invalid x509.CertificateInvalidError) string {
	cert := invalid.Cert
	if cert == nil {
		return ""
	}
	if time.Now().Before(cert.NotBefore) {
		return fmt.Sprintf("the server's certificate is valid from %s only", cert.NotBefore.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("the server's certificate expired at %s", cert.NotAfter.UTC().Format(time.RFC3339))
}

// explainAlert returns what the server rejected in the handshake.
func (c *Client) explainAlert(op *net.OpError) explanation {
	if c.config.TLS.Certificate == "" {
		return explanation{"the server wants a client certificate", c.certificateHint()}
	}
	return explanation{fmt.Sprintf("the server refused the client certificate (%v)", op.Err), c.certificateHint()}
}

// certificateHint returns why the server may reject the client certificate.
func (c *Client) certificateHint() string {
	file := c.config.TLS.Certificate
	if file == "" {
		return "give -p KEY and -c CERTIFICATE"
	}
	if leaf := c.tls.Certificates[0].Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
		return fmt.Sprintf("%s expired at %s", file, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("is %s signed by the CA that the server trusts?", file)
}
