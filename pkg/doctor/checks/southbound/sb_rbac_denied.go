package southbound

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var SBRBACDenied = &doctor.Check{
	Name:     "sb-rbac-denied",
	Category: "sb",
	Doc: `The Southbound refuses what a node writes

A connection with the role ovn-controller lets a node change its own rows only. The common
name in its certificate decides which those are: it must be the chassis name.`,
	Causes: []string{"tls-cert-expired-or-wrong-ca"},
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			rbacDenied(p, h)
		}
	},
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
		return // it was refused earlier; the role is gone since
	}
	f.Show(doctor.Log("ovn-controller").On(h.Name).Says(denied))
	p.Report(f)
}

// roleOf is the role that the Southbound gives to a node's connection, and the endpoint of that connection.
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

// roleAtPort is the role of the Southbound's connection at a TLS port.
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

// commonName is the common name in the certificate of a host's ovn-controller; it adds the certificate to the finding.
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
