package southbound

import (
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

// expirySoon is how long before expiry a long-lived certificate is reported.
const expirySoon = 14 * 24 * time.Hour

var TLSCertExpiredOrWrongCA = &doctor.Check{
	Name:     "tls-cert-expired-or-wrong-ca",
	Category: "sb",
	Doc: `A TLS certificate has expired, or is not accepted

Established connections stay up; the next time that a daemon connects it is refused. So nodes
are lost one after another.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		keys, err := h.Keys()
		if err != nil {
			return // without its processes its use of TLS is unknown
		}
		for i, k := range keys {
			if !slices.ContainsFunc(keys[:i], func(o snapshot.Keys) bool { return same(o, k) }) {
				badKeys(p, h, k, sharing(keys[i:]))
			}
		}
		badServer(p, h, keys)
	},
	Run: func(p *doctor.Pass) {
		for _, problem := range p.Problems {
			if says := certificateProblem(problem.Err); says != "" && !slices.ContainsFunc(p.Findings, refuses) {
				p.Report(doctor.Finding{
					Object:   doctor.DatabaseObject(problem.What),
					Reason:   "refused-here",
					Title:    fmt.Sprintf("%s at %s: %s", problem.What, problem.Where, says),
					Evidence: []doctor.Evidence{doctor.Endpoint(problem.Where).Says(problem.Err.Error())},
					Cause:    "a certificate has expired, or one side does not trust the other's CA",
					Effect:   "new connections are refused; established ones stay up",
					Next:     "run ovnctl doctor on the server's host",
				})
			}
		}
	},
}

// same reports whether two daemons use the same files.
func same(a, b snapshot.Keys) bool {
	return a.Certificate == b.Certificate && a.PrivateKey == b.PrivateKey && a.CACert == b.CACert
}

// certificateProblem returns what is wrong with a server's certificate; empty if nothing.
func certificateProblem(err error) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired"
	case errors.As(err, &invalid):
		return "the server's certificate is not valid"
	case errors.As(err, &unknown):
		return "another CA issued the server's certificate"
	}
	return ""
}

// sharing returns the daemons that use the same files as the first.
func sharing(keys []snapshot.Keys) []string {
	var daemons []string
	for _, k := range keys {
		if same(k, keys[0]) {
			daemons = append(daemons, k.Daemon)
		}
	}
	return daemons
}

// refuses reports whether a finding explains why a server refuses connections, or its clients it.
func refuses(f doctor.Finding) bool { return f.Result == doctor.Error || f.Reason == "other-ca" }

// badKeys reports bad files of one daemon, or of several that share them.
func badKeys(p *doctor.Pass, h *snapshot.Host, k snapshot.Keys, daemons []string) {
	f := doctor.Finding{
		Object: doctor.DaemonObject(h, k.Daemon),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Effect: "it is refused the next time that it connects; established connections stay up",
		Next:   fmt.Sprintf("put a new certificate of the deployment's CA into %s, with its key in %s; daemons reload files that an SSL table names when they change, those on a command line when they start", k.Certificate, k.PrivateKey),
	}
	for _, d := range daemons {
		f.Also = append(f.Also, servedBy(d)...)
		if d != k.Daemon {
			f.Also = append(f.Also, doctor.DaemonObject(h, d))
		}
	}
	t := tlsFiles{p, h, k, daemons, strings.Join(daemons, ", ") + " on " + h.Name}
	if t.judge(&f) {
		p.Report(f)
	}
}

// tlsFiles are the files that daemons of a host share.
type tlsFiles struct {
	p       *doctor.Pass
	h       *snapshot.Host
	keys    snapshot.Keys
	daemons []string
	of      string // the daemons and the host
}

// judge fills in what is wrong with the files; false if nothing.
func (t *tlsFiles) judge(f *doctor.Finding) bool {
	k := t.keys
	chain, err := t.h.Certificates(k, k.Certificate)
	if err != nil {
		return t.missing(f, "certificate", k.Certificate, err)
	}
	f.Evidence = []doctor.Evidence{t.file(k.Certificate).Says(certificateText(chain[0]))}
	if t.invalid(f, chain[0]) {
		return true
	}
	fits, err := t.h.KeyFits(k)
	switch {
	case err != nil && t.missing(f, "private key", k.PrivateKey, err):
		return true
	case err == nil && !fits:
		f.Reason = "key"
		f.Title = fmt.Sprintf("the private key of %s does not match its certificate", t.of)
		f.Evidence = append(f.Evidence, t.file(k.PrivateKey).Says("is the key of another certificate"))
		f.Cause = "one of the two files was replaced without the other"
		return true
	}
	if k.CACert == "" || k.CACert == "none" {
		return false
	}
	roots, err := t.h.Certificates(k, k.CACert)
	if err != nil {
		return !k.Bootstrap && t.missing(f, "CA certificate", k.CACert, err)
	}
	return t.badCA(f, chain, roots)
}

// file is one of the files, as a source.
func (t *tlsFiles) file(path string) doctor.Source { return doctor.File(path, 0).On(t.h.Name) }

// invalid fills in a certificate that is not valid, or soon will not be.
func (t *tlsFiles) invalid(f *doctor.Finding, c *x509.Certificate) bool {
	left := c.NotAfter.Sub(t.p.Now())
	switch {
	case t.p.Now().Before(c.NotBefore):
		f.Reason = "not-yet-valid"
		f.Title = fmt.Sprintf("the certificate of %s is not valid before %s", t.of, c.NotBefore.UTC().Format(time.RFC3339))
		f.Cause = "a host with another clock issued it, or this host's clock is wrong"
		return true
	case left < 0:
		f.Reason = "expired"
		f.Title = fmt.Sprintf("the certificate of %s expired at %s", t.of, c.NotAfter.UTC().Format(time.RFC3339))
	case left < min(expirySoon, c.NotAfter.Sub(c.NotBefore)/10):
		f.Result, f.Reason = doctor.Warning, "expires-soon"
		f.Title = fmt.Sprintf("the certificate of %s expires in %s", t.of, doctor.Span(left))
	default:
		return false
	}
	f.Cause = "it was not renewed"
	return true
}

// badCA fills in a CA that has expired, or did not issue the daemon's own certificate.
func (t *tlsFiles) badCA(f *doctor.Finding, chain, roots []*x509.Certificate) bool {
	f.Evidence = append(f.Evidence, t.file(t.keys.CACert).Says(certificateText(roots[0])))
	if !slices.ContainsFunc(roots, func(c *x509.Certificate) bool { return t.p.Now().Before(c.NotAfter) }) {
		f.Reason = "ca-expired"
		f.Title = fmt.Sprintf("the CA certificate of %s expired at %s", t.of, roots[0].NotAfter.UTC().Format(time.RFC3339))
		f.Cause = "the CA was not renewed"
		f.Next = "renew the CA with the same key, and distribute its certificate to all hosts before you restart anything"
		return true
	}
	if verify(chain, roots, t.p.Now()) == nil {
		return false
	}
	// Two CAs, with each side trusting the other's, are allowed: the log shows whether it works.
	refused, known := doctor.Evidence{}, true
	for _, daemon := range t.daemons {
		line, can := refusedHandshake(t.p, t.h, daemon)
		known = known && can
		if line != "" {
			refused = doctor.Log(logName(daemon)).On(t.h.Name).Says(line)
		}
	}
	f.Reason = "other-ca"
	f.Title = fmt.Sprintf("the CA that %s trusts did not issue its certificate", t.of)
	f.Cause = "the certificate or the CA certificate is of another deployment, or the CA was changed on some hosts only"
	if refused.Says == "" {
		f.Result = doctor.Warning
		return !known
	}
	f.Evidence = append(f.Evidence, refused)
	return true
}

// missing fills in a file that does not exist or cannot be used. An unreadable file is unknown.
func (t *tlsFiles) missing(f *doctor.Finding, what, path string, err error) bool {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Reason = "missing"
		f.Title = fmt.Sprintf("the %s of %s does not exist: %s", what, t.of, path)
		f.Cause = "it was never put there, or was removed"
	case errors.Is(err, node.ErrUnavailable), errors.Is(err, fs.ErrPermission):
		t.p.Unknown(f.Object, fmt.Errorf("%s %s of %s: %w", what, path, t.of, err))
		return false
	default:
		f.Reason = "unusable"
		f.Title = fmt.Sprintf("the %s of %s cannot be used: %s", what, t.of, path)
		f.Cause = "the file is damaged, or of another kind"
	}
	f.Evidence = append(f.Evidence, t.file(path).Says(err.Error()+"; named by the "+t.keys.Source))
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

// badServer reports a server certificate that a disconnected node does not accept.
func badServer(p *doctor.Pass, h *snapshot.Host, keys []snapshot.Keys) {
	at := slices.IndexFunc(keys, func(k snapshot.Keys) bool { return k.Daemon == "ovn-controller" })
	if at < 0 || !h.Local || disconnected(h, "ovn-controller", "connection-status") == "" {
		return
	}
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) != 1 {
		return
	}
	roots, err := h.Certificates(keys[at], keys[at].CACert)
	if err != nil {
		return
	}
	for _, remote := range doctor.Endpoints(sw.OpenvSwitch[0].ExternalIDs["ovn-remote"]) {
		chain, err := p.Shown(remote)
		if err != nil {
			continue
		}
		problem := verify(chain, roots, p.Now())
		if problem == nil {
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.SouthboundObject,
			Also:   []doctor.Object{doctor.NodeObject(h.Name)},
			Reason: "server-certificate",
			Title:  fmt.Sprintf("ovn-controller on %s does not accept the certificate of the server at %s", h.Name, remote),
			Evidence: []doctor.Evidence{
				doctor.Endpoint(remote).Says(certificateText(chain[0]) + ": " + problem.Error()),
				doctor.File(keys[at].CACert, 0).On(h.Name).Says(certificateText(roots[0])),
			},
			Cause:  "the server's certificate has expired, or another CA than the node trusts issued it",
			Effect: notServedEffect("OVN_Southbound"),
			Next:   fmt.Sprintf("give the server at %s a certificate of the CA that the nodes trust", remote),
		})
	}
}

// logName returns the name of a daemon's log.
func logName(daemon string) string {
	switch daemon {
	case "ovnnb_db":
		return "ovsdb-server-nb"
	case "ovnsb_db":
		return "ovsdb-server-sb"
	}
	return daemon
}

// refusedHandshake returns a daemon's last log line, within a day, about a failed handshake; known means that there is
// a log.
func refusedHandshake(p *doctor.Pass, h *snapshot.Host, daemon string) (line string, known bool) {
	lines, err := h.LogLines(logName(daemon))
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

// certificateText returns a certificate's subject, issuer and validity.
func certificateText(c *x509.Certificate) string {
	return fmt.Sprintf("subject %q, issuer %q, valid from %s to %s", c.Subject, c.Issuer, c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
}

// servedBy returns the databases that a daemon serves, or is a client of.
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

var SBRBACDenied = &doctor.Check{
	Name:     "sb-rbac-denied",
	Category: "sb",
	Doc: `The Southbound refuses what a node writes

A connection with the role ovn-controller lets a node change its own rows only. The common
name in its certificate decides which those are: it must be the chassis name.`,
	Causes: []string{"tls-cert-expired-or-wrong-ca"},
	Host:   rbacDenied,
}

func rbacDenied(p *doctor.Pass, h *snapshot.Host) {
	if !doctor.Replies(h, "ovn-controller") {
		return
	}
	f := doctor.Finding{
		Object: doctor.DaemonObject(h, "ovn-controller"),
		Also:   []doctor.Object{doctor.NodeObject(h.Name), {Kind: "chassis", Name: h.SystemID}, doctor.DatabaseObject("OVN_Southbound")},
		Effect: "the node cannot register itself, bind ports or write what it learns; existing rows stay",
		Next:   fmt.Sprintf("give %s a certificate whose common name is its system-id, %s", h.Name, h.SystemID),
	}
	var denied string
	if lines, err := h.LogLines("ovn-controller"); err == nil {
		refused := doctor.Recent(lines, p.Now().Add(-15*time.Minute), func(l snapshot.LogLine) bool {
			return strings.Contains(l.Text, "RBAC rules for client")
		})
		if len(refused) > 0 {
			denied = refused[len(refused)-1].Raw
		}
	}
	role, remote := roleOf(p, h)
	if role == "" && denied == "" {
		return
	}
	if role != "" {
		f.Evidence = append(f.Evidence, doctor.SB("Connection", "").Says("role="+role+" for "+remote))
	}
	name, known := commonName(h, &f)
	switch {
	case role == "ovn-controller" && known && name != h.SystemID:
		f.Reason = "common-name"
		f.Title = fmt.Sprintf("the certificate of %s is for %q, but its chassis is %q: the Southbound refuses what it writes", h.Name, name, h.SystemID)
		f.Cause = "the certificate was issued for another common name than the system-id, or the system-id was changed"
	case role != "" && denied != "":
		f.Reason = "permissions"
		f.Title = fmt.Sprintf("the Southbound refuses what ovn-controller on %s writes", h.Name)
		f.Cause = "the role's permissions (RBAC_Role, RBAC_Permission) do not allow it; ovn-northd writes them and may be of another release"
		f.Next = "ovn-sbctl list RBAC_Role RBAC_Permission; check that ovn-northd is as new as ovn-controller"
	case role != "" && !known:
		p.Unknown(f.Object, fmt.Errorf("the certificate of %s was not read, and the role %s requires its common name to be the chassis name; run ovnctl doctor on the node", h.Name, role))
		return
	default:
		return // refused earlier; the role has been removed since
	}
	f.Show(doctor.Log("ovn-controller").On(h.Name).Says(denied))
	p.Report(f)
}

// roleOf returns the role that the Southbound gives to a node's connection, and its endpoint.
func roleOf(p *doctor.Pass, h *snapshot.Host) (role, remote string) {
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) != 1 {
		return "", ""
	}
	for _, r := range doctor.Endpoints(sw.OpenvSwitch[0].ExternalIDs["ovn-remote"]) {
		if !strings.HasPrefix(r, "ssl:") {
			continue
		}
		if role := roleAtPort(p, r[strings.LastIndexByte(r, ':')+1:]); role != "" {
			return role, r
		}
	}
	return "", ""
}

// roleAtPort returns the role of the Southbound's connection at a TLS port.
func roleAtPort(p *doctor.Pass, port string) string {
	for z := range p.EachZone() {
		rows, _ := z.Connections("OVN_Southbound")
		for _, c := range rows {
			parts := strings.SplitN(c.Target, ":", 3)
			if len(parts) > 1 && parts[0] == "pssl" && parts[1] == port && c.Role != "" {
				return c.Role
			}
		}
	}
	return ""
}

// commonName returns the common name in the certificate of a host's ovn-controller; it adds the certificate to the
// finding.
func commonName(h *snapshot.Host, f *doctor.Finding) (string, bool) {
	keys, err := h.Keys()
	if err != nil {
		return "", false
	}
	at := slices.IndexFunc(keys, func(k snapshot.Keys) bool { return k.Daemon == "ovn-controller" })
	if at < 0 {
		return "", false
	}
	chain, err := h.Certificates(keys[at], keys[at].Certificate)
	if err != nil {
		return "", false
	}
	f.Evidence = append(f.Evidence,
		doctor.File(keys[at].Certificate, 0).On(h.Name).Says(fmt.Sprintf("subject %q", chain[0].Subject)),
		doctor.Setting("external_ids:system-id").On(h.Name).Says(h.SystemID))
	return chain[0].Subject.CommonName, true
}
