package ovsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// A remote is one server, as ovsdb(7) writes it.
type remote struct {
	text    string // unix:/run/ovn/ovnsb_db.sock
	scheme  string // unix, tcp, ssl
	address string // path, or host:port
}

// defaultPort is the one that ovsdb(7) names.
const defaultPort = "6640"

// CheckRemotes reports what is wrong with a comma list of remotes, ovsdb(7); it does not connect.
func CheckRemotes(list string) error {
	_, err := parseRemotes(list)
	return err
}

// parseRemotes splits a comma list of remotes.
func parseRemotes(list string) ([]remote, error) {
	var remotes []remote
	for _, text := range strings.Split(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		r, err := parseRemote(text)
		if err != nil {
			return nil, err
		}
		remotes = append(remotes, r)
	}
	if len(remotes) == 0 {
		return nil, fmt.Errorf("no remote given")
	}
	return remotes, nil
}

func parseRemote(text string) (remote, error) {
	scheme, address, _ := strings.Cut(text, ":")
	switch scheme {
	case "unix":
		if address == "" {
			return remote{}, fmt.Errorf("remote %q: no path", text)
		}
	case "tcp", "ssl":
		host, port, err := net.SplitHostPort(address)
		if err != nil && !strings.Contains(strings.Trim(address, "[]"), ":") || strings.HasSuffix(address, "]") {
			host, port, err = strings.Trim(address, "[]"), defaultPort, nil
			address = net.JoinHostPort(host, port)
		}
		if err != nil {
			return remote{}, fmt.Errorf("remote %q: want %s:HOST:PORT, an IPv6 address in brackets", text, scheme)
		}
		if host == "" || port == "" {
			return remote{}, fmt.Errorf("remote %q: host or port missing", text)
		}
	case "ptcp", "pssl", "punix":
		return remote{}, fmt.Errorf("remote %q: that is what a server listens on, give %s:…", text, scheme[1:])
	default:
		return remote{}, fmt.Errorf("remote %q: want unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT", text)
	}
	return remote{text, scheme, address}, nil
}

// on names the host whose socket a remote is.
func (r *remote) on(host string) {
	if host != "" && r.scheme == "unix" {
		r.text += " on " + host
	}
}

// dial opens the connection; only ssl uses config, and only unix socket, if not nil.
func (r remote) dial(ctx context.Context, config *tls.Config, socket func(context.Context, string) (net.Conn, error)) (net.Conn, error) {
	var d net.Dialer
	switch r.scheme {
	case "unix":
		if socket != nil {
			return socket(ctx, r.address)
		}
		return d.DialContext(ctx, "unix", r.address)
	case "ssl":
		t := tls.Dialer{NetDialer: &d, Config: config}
		c, err := t.DialContext(ctx, "tcp", r.address)
		var plain tls.RecordHeaderError
		if errors.Is(err, io.EOF) || errors.As(err, &plain) {
			err = fmt.Errorf("in the TLS handshake: %w (%w)", io.ErrUnexpectedEOF, err)
		}
		return c, err
	}
	return d.DialContext(ctx, "tcp", r.address)
}
