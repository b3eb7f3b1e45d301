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

// failure puts an error of the network or of the server into the operator's
// words, with the next step.
func (c *Client) failure(remote string, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Database: c.config.DB, Remote: strings.TrimSpace(remote)}
	e.Err, e.Hint = c.explain(remote, err)
	return e
}

// cause is an error in other words.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.err }

func (c *Client) explain(remote string, err error) (error, string) {
	if errors.Is(err, ErrUnknownOutcome) {
		return err, "read the rows back before trying again"
	}
	if said, hint, ok := c.explainTLS(err); ok {
		return said, hint
	}
	unix := strings.HasPrefix(remote, "unix:")
	var file *fs.PathError
	var dns *net.DNSError
	switch {
	case errors.As(err, &file):
		return err, "the files that -p, -c and -C name must be there and readable"
	case errors.Is(err, fs.ErrNotExist) && unix:
		return &cause{"no such socket", err},
			"is the server running on this host? `ls /run/ovn /run/openvswitch` shows its sockets; otherwise give tcp:HOST:PORT or ssl:HOST:PORT"
	case errors.Is(err, syscall.EINVAL) && unix:
		return &cause{"the path is too long for a socket", err}, "give a path of at most 107 bytes, by a symbolic link for instance"
	case errors.Is(err, fs.ErrPermission):
		return &cause{"permission denied", err}, "run as root, or give ssl:HOST:PORT with key, certificate and CA certificate"
	case errors.Is(err, syscall.ECONNREFUSED) && unix:
		return &cause{"connection refused", err}, "the socket is left over from a server that has ended: start the server again"
	case errors.Is(err, syscall.ECONNREFUSED):
		return &cause{"connection refused", err}, "no server listens on that port: look at the Connection table of the database, and whether the server runs"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return &cause{"no route to the host", err}, "is the address right, and in reach of this host?"
	case errors.As(err, &dns):
		return &cause{fmt.Sprintf("the name %s is not known", dns.Name), err}, "give the address instead of the name"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return &cause{fmt.Sprintf("no answer within the time limit (%v)", c.config.Timeout), err},
			"the server is stopped, busy or cut off: try again with a longer timeout, or another member"
	case errors.Is(err, ErrNotServed):
		return err, "is this the address of the other database? 6641 is usually the Northbound, 6642 the Southbound"
	case errors.Is(err, ErrNoLeader):
		return err, "give the addresses of all members, or read from any with --no-leader-only"
	case errors.Is(err, ErrTooLarge):
		return err, "ask for less at a time"
	case errors.Is(err, errSyntax) && strings.HasPrefix(remote, "tcp:"):
		return err, "is that an ssl: port?"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		hint := "the server ended or was restarted: try again"
		switch {
		case strings.HasPrefix(remote, "tcp:"):
			hint += "; or it is an ssl: port"
		case strings.HasPrefix(remote, "ssl:"):
			hint = "is it an ssl: port? " + c.certificateHint()
		}
		return &cause{"the server closed the connection", err}, hint
	}
	return err, ""
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// explainTLS knows the errors of the TLS handshake.
func (c *Client) explainTLS(err error) (said error, hint string, ok bool) {
	files := c.config.TLS
	var missing *missingFile
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	switch {
	case errors.As(err, &missing):
		return err, "give -p KEY -c CERTIFICATE -C CA-CERTIFICATE, as to the C tools", true
	case errors.As(err, &unknown):
		return &cause{fmt.Sprintf("the server's certificate is not signed by the CA of %s", files.CACert), err},
			"give the CA certificate that signed the server's (-C)", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return expiry(invalid, err), "give the server a new certificate, or mend the clock", true
	case errors.As(err, &invalid):
		return &cause{"the server's certificate is not fit for a server: " + invalid.Error(), err}, "", true
	case errors.As(err, &name):
		return &cause{fmt.Sprintf("the server's certificate is not for the name %s", files.ServerName), err},
			nameHint(name.Certificate), true
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		said, hint = c.explainAlert(op)
		return said, hint, true
	}
	return nil, "", false
}

// nameHint says which names the certificate holds.
func nameHint(cert *x509.Certificate) string {
	if cert == nil || len(cert.DNSNames) == 0 {
		return "it holds no name at all: leave the server name out"
	}
	return fmt.Sprintf("give the name that it holds (%s), or leave the server name out", strings.Join(cert.DNSNames, ", "))
}

// expiry says since when, or until when, the certificate is not valid.
func expiry(invalid x509.CertificateInvalidError, err error) error {
	if cert := invalid.Cert; cert != nil {
		if now := time.Now(); now.Before(cert.NotBefore) {
			return &cause{fmt.Sprintf("the server's certificate is valid from %s only", cert.NotBefore.UTC().Format(time.RFC3339)), err}
		}
		return &cause{fmt.Sprintf("the server's certificate expired at %s", cert.NotAfter.UTC().Format(time.RFC3339)), err}
	}
	return err
}

// explainAlert is what the server did not like in the handshake.
func (c *Client) explainAlert(op *net.OpError) (said error, hint string) {
	if c.config.TLS.Certificate == "" {
		return &cause{"the server wants a client certificate", op}, c.certificateHint()
	}
	return &cause{fmt.Sprintf("the server refused the client certificate (%v)", op.Err), op}, c.certificateHint()
}

// certificateHint says what the server may have against the client certificate.
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
