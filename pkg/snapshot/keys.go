package snapshot

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Keys are the certificate and key files of a daemon, as paths where it runs.
type Keys struct {
	Daemon      string // "ovn-controller", "ovnsb_db", …
	Source      string // where they are set: "command line", "Open_vSwitch SSL"
	PrivateKey  string
	Certificate string
	CACert      string
	// Bootstrap: the CA certificate need not exist before the first connection.
	Bootstrap bool
	// root is the path to the daemon's root directory, "/proc/PID/root".
	root string
}

// keyFile reads one of the files as the daemon sees it, else as the host does.
func (h *Host) keyFile(k Keys, path string) ([]byte, error) {
	if k.root != "" {
		if b, err := h.node.Host.ReadFile(h.d.ctx, k.root+path); err == nil {
			return b, nil
		}
	}
	return h.node.Host.ReadFile(h.d.ctx, path)
}

// Keys returns the key files of the host's daemons: from their command lines, or from a database's SSL table that
// these refer to.
func (h *Host) Keys() ([]Keys, error) {
	return Derive(h, "", func() ([]Keys, error) {
		var all []Keys
		processes, err := h.Processes()
		for _, p := range processes {
			k := Keys{
				Daemon: daemonOf(p), Source: "command line of " + p.Name, root: fmt.Sprintf("/proc/%d/root", p.PID),
				PrivateKey:  node.Option(p.Args, "-p", "--private-key"),
				Certificate: node.Option(p.Args, "-c", "--certificate"),
				CACert:      node.Option(p.Args, "-C", "--ca-cert"),
			}
			if k.CACert == "" {
				k.CACert = node.Option(p.Args, "", "--bootstrap-ca-cert")
				k.Bootstrap = k.CACert != ""
			}
			if h.fromDatabase(&k) && k.Certificate != "" && k.PrivateKey != "" && !slices.ContainsFunc(all, func(o Keys) bool { return o.Daemon == k.Daemon }) {
				all = append(all, k)
			}
		}
		sw, problem := h.Switch()
		if problem == nil && len(sw.SSL) > 0 {
			s := sw.SSL[0]
			for _, daemon := range []string{"ovn-controller", "ovsdb-server"} {
				if !slices.ContainsFunc(all, func(o Keys) bool { return o.Daemon == daemon }) {
					all = append(all, Keys{Daemon: daemon, Source: "Open_vSwitch SSL", PrivateKey: s.PrivateKey, Certificate: s.Certificate, CACert: s.CACert, Bootstrap: s.BootstrapCACert})
				}
			}
		}
		if len(all) == 0 && err != nil {
			return nil, err
		}
		return all, nil
	})
}

// daemonOf returns the daemon's name for a process: for an ovsdb-server by its database.
func daemonOf(p node.Process) string {
	for _, s := range servers {
		for _, a := range p.Args {
			if strings.HasSuffix(a, "/"+s.Control+".ctl") || strings.HasSuffix(a, "/"+s.Control+".db") {
				return s.Control
			}
		}
	}
	return p.Name
}

// fromDatabase replaces "db:DATABASE,SSL,COLUMN" by paths; false if the database lacks them.
func (h *Host) fromDatabase(k *Keys) bool {
	for i, at := range []*string{&k.PrivateKey, &k.Certificate, &k.CACert} {
		where, ok := strings.CutPrefix(*at, "db:")
		if !ok {
			continue
		}
		database, _, _ := strings.Cut(where, ",")
		files, found := h.sslRow(database)
		if !found {
			return false
		}
		*at, k.Source = files[i], database+" SSL"
	}
	return true
}

// sslFiles are the private key, the certificate and the CA certificate of an SSL row.
type sslFiles [3]string

func (h *Host) sslRow(database string) (sslFiles, bool) {
	switch database {
	case "Open_vSwitch":
		if s, err := h.Switch(); err == nil && len(s.SSL) > 0 {
			return sslFiles{s.SSL[0].PrivateKey, s.SSL[0].Certificate, s.SSL[0].CACert}, true
		}
	case "OVN_Northbound", "OVN_Southbound":
		for _, z := range h.d.Zones {
			if rows, err := z.ssl(database); err == nil && len(rows) > 0 {
				return rows[0], true
			}
		}
	}
	return sslFiles{}, false
}

// Certificates reads the certificates in one of the files, the daemon's own first.
func (h *Host) Certificates(k Keys, path string) ([]*x509.Certificate, error) {
	return Derive(h, k.Daemon+" "+path, func() ([]*x509.Certificate, error) {
		b, err := h.keyFile(k, path)
		if err != nil {
			return nil, err
		}
		var all []*x509.Certificate
		for len(b) > 0 {
			block, rest := pem.Decode(b)
			if block == nil {
				break
			}
			b = rest
			if block.Type != "CERTIFICATE" {
				continue
			}
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, c)
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s contains no certificate", path)
		}
		return all, nil
	})
}

// KeyFits reports whether the private key matches the certificate. The key is not kept.
func (h *Host) KeyFits(k Keys) (bool, error) {
	return Derive(h, k.Daemon, func() (bool, error) {
		private, err := h.keyFile(k, k.PrivateKey)
		if err != nil {
			return false, err
		}
		public, err := h.keyFile(k, k.Certificate)
		if err != nil {
			return false, err
		}
		switch _, err = tls.X509KeyPair(public, private); {
		case err == nil:
			return true, nil
		case strings.Contains(err.Error(), "does not match"):
			return false, nil
		}
		return false, errors.New(k.PrivateKey + ": not a private key that can be read")
	})
}

// Shown returns the certificates that the server at an ssl: remote presents to any client, seen from the host ovnctl
// runs on.
func (d *Deployment) Shown(remote string) ([]*x509.Certificate, error) {
	return Derive(d, remote, func() ([]*x509.Certificate, error) {
		address, ok := strings.CutPrefix(remote, "ssl:")
		if !ok {
			return nil, fmt.Errorf("%s: not an ssl: remote", remote)
		}
		ctx, cancel := context.WithTimeout(d.ctx, 2*time.Second)
		defer cancel()
		raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		defer raw.Close()
		if end, ok := ctx.Deadline(); ok {
			_ = raw.SetDeadline(end)
		}
		var shown []*x509.Certificate
		conn := tls.Client(raw, &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // it is inspected, not trusted
			VerifyConnection: func(cs tls.ConnectionState) error {
				shown = cs.PeerCertificates
				return nil
			},
		})
		err = conn.HandshakeContext(ctx)
		if len(shown) > 0 {
			return shown, nil // even if it requires a client certificate
		}
		if err == nil {
			err = errors.New("the server presents no certificate")
		}
		return nil, err
	})
}
