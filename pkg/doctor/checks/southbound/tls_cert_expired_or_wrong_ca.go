package southbound

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// expirySoon is from when on a certificate's end is told, of one that lives long.
const expirySoon = 14 * 24 * time.Hour

var TLSCertExpiredOrWrongCA = &doctor.Check{
	Name:     "tls-cert-expired-or-wrong-ca",
	Category: "sb",
	Doc: `A certificate is not accepted

Connections that stand go on; the next time a daemon connects it is refused. So
nodes are lost one after the other.`,
	Run: func(p *doctor.Pass) {
		bad := false
		for _, h := range p.Hosts {
			keys, err := h.Keys()
			if err != nil {
				continue // without its processes nothing says that it uses TLS
			}
			for i, k := range keys {
				if !slices.ContainsFunc(keys[:i], func(o snapshot.Keys) bool {
					return o.Certificate == k.Certificate && o.PrivateKey == k.PrivateKey && o.CACert == k.CACert
				}) {
					bad = badKeys(p, h, k, sharing(keys[i:])) || bad
				}
			}
			bad = badServer(p, h, keys) || bad
		}
		if bad {
			return
		}
		for _, problem := range p.Problems {
			if says := certificateProblem(problem.Err); says != "" {
				p.Report(doctor.Finding{
					Object:   doctor.DatabaseObject(problem.What),
					Title:    fmt.Sprintf("%s at %s: %s", problem.What, problem.Where, says),
					Evidence: []doctor.Evidence{{Source: doctor.Other("connecting to " + problem.Where), Says: problem.Err.Error()}},
					Cause:    "a certificate has expired, or one side does not trust the other's CA",
					Effect:   "whoever connects anew is refused; connections that stand go on",
					Next:     "run ovnctl doctor on the server's host",
				})
			}
		}
	},
}

// certificateProblem is what is wrong with a server's certificate; empty: nothing.
func certificateProblem(err error) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired"
	case errors.As(err, &invalid):
		return "the server's certificate is not valid"
	case errors.As(err, &unknown):
		return "the server's certificate is of another CA"
	}
	return ""
}

// sharing are the daemons that have the same files as the first.
func sharing(keys []snapshot.Keys) []string {
	var daemons []string
	for _, k := range keys {
		if k.Certificate == keys[0].Certificate && k.PrivateKey == keys[0].PrivateKey && k.CACert == keys[0].CACert {
			daemons = append(daemons, k.Daemon)
		}
	}
	return daemons
}

// badKeys looks at the files of one daemon, or of several that share them.
func badKeys(p *doctor.Pass, h *snapshot.Host, k snapshot.Keys, daemons []string) bool {
	object := doctor.Object{Kind: "daemon", Name: k.Daemon, Node: h.Name}
	f := doctor.Finding{
		Object: object,
		Also:   []doctor.Object{{Kind: "node", Name: h.Name}},
		Effect: "its connections are refused the next time that it connects; those that stand go on",
		Next:   fmt.Sprintf("put a new certificate of the deployment's CA into %s, with its key in %s; files that an SSL table names are read anew when they change, those on a command line when the daemon starts", k.Certificate, k.PrivateKey),
	}
	for _, d := range daemons {
		f.Also = append(f.Also, servedBy(d)...)
		if d != k.Daemon {
			f.Also = append(f.Also, doctor.Object{Kind: "daemon", Name: d, Node: h.Name})
		}
	}
	k.Daemon = strings.Join(daemons, ", ")
	chain, err := h.Certificates(k, k.Certificate)
	if err != nil {
		if missingFile(p, h, &f, k, "certificate", k.Certificate, err) {
			p.Report(f)
			return true
		}
		return false
	}
	leaf := chain[0]
	f.Evidence = []doctor.Evidence{{Source: doctor.Other("file " + k.Certificate + " (" + k.Source + ")"), Says: certificateText(leaf)}}
	if title, result := validity(leaf, p.Now()); title != "" {
		f.Title = fmt.Sprintf("the certificate of %s on %s %s", k.Daemon, h.Name, title)
		f.Result = result
		f.Cause = "nobody renewed it"
		if strings.Contains(title, "not valid before") {
			f.Cause = "it was made by a host with another clock, or this host's clock is wrong"
		}
		p.Report(f)
		return result == doctor.Error
	}
	fits, err := h.KeyFits(k)
	switch {
	case err != nil && missingFile(p, h, &f, k, "private key", k.PrivateKey, err):
		p.Report(f)
		return true
	case err == nil && !fits:
		f.Title = fmt.Sprintf("the private key of %s on %s does not belong to its certificate", k.Daemon, h.Name)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(k.PrivateKey, 0), Says: "is the key of another certificate"})
		f.Cause = "one of the two files was replaced without the other"
		p.Report(f)
		return true
	}
	if k.CACert == "" || k.CACert == "none" {
		return false
	}
	roots, err := h.Certificates(k, k.CACert)
	if err != nil {
		if !k.Bootstrap && missingFile(p, h, &f, k, "CA certificate", k.CACert, err) {
			p.Report(f)
			return true
		}
		return false
	}
	return badCA(p, h, k, f, chain, roots)
}

// badCA looks whether a daemon and its peers can be of one CA.
func badCA(p *doctor.Pass, h *snapshot.Host, k snapshot.Keys, f doctor.Finding, chain, roots []*x509.Certificate) bool {
	valid := slices.ContainsFunc(roots, func(c *x509.Certificate) bool { return p.Now().Before(c.NotAfter) })
	if !valid {
		f.Title = fmt.Sprintf("the CA certificate of %s on %s expired at %s", k.Daemon, h.Name, roots[0].NotAfter.UTC().Format(time.RFC3339))
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(k.CACert, 0), Says: certificateText(roots[0])})
		f.Cause = "nobody renewed the CA"
		f.Next = "renew the CA with the same key, and distribute its certificate to all hosts before anything is restarted"
		p.Report(f)
		return true
	}
	if verify(chain, roots, p.Now()) == nil {
		return false
	}
	// Two CAs, each side trusting the other's, is allowed: the log says whether it works.
	var line string
	known := true
	for daemon := range strings.SplitSeq(k.Daemon, ", ") {
		said, can := refusedHandshake(p, h, daemon)
		line, known = cmp.Or(line, said), known && can
	}
	if known && line == "" {
		return false
	}
	f.Title = fmt.Sprintf("the certificate of %s on %s is not of the CA that it trusts itself", k.Daemon, h.Name)
	f.Cause = "the certificate or the CA certificate is of another deployment, or the CA was changed on some hosts only"
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(k.CACert, 0), Says: certificateText(roots[0])})
	if line != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("log"), Says: line})
	} else {
		f.Result = doctor.Warning
	}
	p.Report(f)
	return true
}

func verify(chain, roots []*x509.Certificate, now time.Time) error {
	pool, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range roots {
		pool.AddCert(c)
	}
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// badServer looks at the certificates that the servers show to a node that is not
// connected.
func badServer(p *doctor.Pass, h *snapshot.Host, keys []snapshot.Keys) bool {
	at := slices.IndexFunc(keys, func(k snapshot.Keys) bool { return k.Daemon == "ovn-controller" })
	if at < 0 || !h.Local {
		return false
	}
	state, err := h.Control("ovn-controller", "connection-status")
	if err != nil || strings.TrimSpace(state) == "connected" {
		return false
	}
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) != 1 {
		return false
	}
	roots, err := h.Certificates(keys[at], keys[at].CACert)
	if err != nil {
		return false
	}
	found := false
	for _, remote := range doctor.Endpoints(sw.OpenvSwitch[0].ExternalIDs["ovn-remote"]) {
		chain, err := p.Shown(remote)
		if err != nil {
			continue
		}
		problem := verify(chain, roots, p.Now())
		if problem == nil {
			continue
		}
		f := doctor.Finding{
			Object: doctor.Object{Kind: "database", Name: "OVN_Southbound"},
			Also:   []doctor.Object{{Kind: "node", Name: h.Name}},
			Title:  fmt.Sprintf("ovn-controller on %s does not accept the certificate that the server at %s shows", h.Name, remote),
			Evidence: []doctor.Evidence{
				{Source: doctor.Other("server " + remote), Says: certificateText(chain[0])},
				{Source: doctor.Other("file " + keys[at].CACert + " on " + h.Name), Says: certificateText(roots[0])},
				{Source: doctor.Other("verified here"), Says: problem.Error()},
			},
			Cause:  "the server's certificate has expired, or is of another CA than the node trusts",
			Effect: notServedEffect("OVN_Southbound"),
			Next:   fmt.Sprintf("give the server at %s a certificate of the CA that the nodes trust", remote),
		}
		p.Report(f)
		found = true
	}
	return found
}

// refusedHandshake is the last line in which a daemon's log says that a handshake
// failed since it was started; known: there is a log.
func refusedHandshake(p *doctor.Pass, h *snapshot.Host, daemon string) (line string, known bool) {
	name := daemon
	switch daemon {
	case "ovnnb_db":
		name = "ovsdb-server-nb"
	case "ovnsb_db":
		name = "ovsdb-server-sb"
	}
	lines, err := h.LogLines(name)
	if err != nil {
		return "", false
	}
	refused := doctor.Recent(lines, p.Now().Add(-24*time.Hour), func(l snapshot.LogLine) bool {
		return l.Module == "stream_ssl" && (strings.Contains(l.Text, "certificate verify failed") || strings.Contains(l.Text, "alert"))
	})
	if len(refused) == 0 {
		return "", true
	}
	return refused[len(refused)-1].Raw, true
}

// missingFile fills in the finding of a file that is not there, or not what it
// should be. A file that could not be read is no finding.
func missingFile(p *doctor.Pass, h *snapshot.Host, f *doctor.Finding, k snapshot.Keys, what, path string, err error) bool {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Title = fmt.Sprintf("the %s of %s on %s is not there: %s", what, k.Daemon, h.Name, path)
		f.Cause = "it was never put there, or was removed"
	case errors.Is(err, node.ErrUnavailable), errors.Is(err, fs.ErrPermission):
		p.Unknown(f.Object, fmt.Errorf("%s %s of %s: %w", what, path, k.Daemon, err))
		return false
	default:
		f.Title = fmt.Sprintf("the %s of %s on %s cannot be used: %s", what, k.Daemon, h.Name, path)
		f.Cause = "the file is damaged, or of another kind"
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("file " + path + " (" + k.Source + ")"), Says: err.Error()})
	return true
}

// validity is what is wrong with the time of a certificate, or soon will be.
func validity(c *x509.Certificate, now time.Time) (string, doctor.Result) {
	left := c.NotAfter.Sub(now)
	switch {
	case now.Before(c.NotBefore):
		return "is not valid before " + c.NotBefore.UTC().Format(time.RFC3339), doctor.Error
	case left < 0:
		return "expired at " + c.NotAfter.UTC().Format(time.RFC3339), doctor.Error
	case left < min(expirySoon, c.NotAfter.Sub(c.NotBefore)/10):
		return "expires in " + doctor.Span(left), doctor.Warning
	}
	return "", doctor.OK
}

// certificateText is what a certificate says of itself.
func certificateText(c *x509.Certificate) string {
	return fmt.Sprintf("subject %q, issuer %q, valid from %s to %s", c.Subject, c.Issuer, c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
}

// servedBy is the database whose server a daemon is, or that it is a client of.
func servedBy(daemon string) []doctor.Object {
	switch daemon {
	case "ovnnb_db":
		return []doctor.Object{doctor.DatabaseObject("OVN_Northbound")}
	case "ovnsb_db", "ovn-controller":
		return []doctor.Object{doctor.DatabaseObject("OVN_Southbound")}
	case "ovn-northd":
		return []doctor.Object{doctor.DatabaseObject("OVN_Northbound"), doctor.DatabaseObject("OVN_Southbound")}
	}
	return nil
}
