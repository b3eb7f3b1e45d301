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

Where connections have the role ovn-controller, a node may change its own rows
alone, and which are its own the name in its certificate says: it must be the
chassis' name.`,
	Causes: []string{"tls-cert-expired-or-wrong-ca"},
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			rbacDenied(p, h)
		}
	},
}

func rbacDenied(p *doctor.Pass, h *snapshot.Host) {
	d, err := h.Daemon("ovn-controller")
	if err != nil || d.Liveness != snapshot.Answers {
		return
	}
	object := doctor.Object{Kind: "daemon", Name: "ovn-controller", Node: h.Name}
	f := doctor.Finding{
		Object: object,
		Also:   []doctor.Object{{Kind: "node", Name: h.Name}, {Kind: "chassis", Name: h.SystemID}, doctor.DatabaseObject("OVN_Southbound")},
		Effect: "the node cannot register itself, bind ports or write what it learns; rows that are there stay",
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
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("Southbound Connection for " + remote), Says: "role=" + role})
	}
	name, known := commonName(p, h, &f)
	switch {
	case role == "ovn-controller" && known && name != h.SystemID:
		f.Title = fmt.Sprintf("the certificate of %s is for %q, but its chassis is %q: the Southbound refuses what it writes", h.Name, name, h.SystemID)
		f.Cause = "the certificate was made with another common name than the system-id, or the system-id was changed"
	case role != "" && denied != "":
		f.Title = fmt.Sprintf("the Southbound refuses what ovn-controller on %s writes", h.Name)
		f.Cause = "the role's permissions (RBAC_Role, RBAC_Permission) do not allow it; ovn-northd writes them, perhaps of another release"
		f.Next = "ovn-sbctl list RBAC_Role RBAC_Permission; is ovn-northd as new as ovn-controller?"
	case role != "" && !known:
		p.Unknown(object, fmt.Errorf("whether the certificate of %s fits its chassis' name, as the role %s wants it: its files could not be read; run doctor on the node", h.Name, role))
		return
	default:
		return // it was refused before, and is not any more
	}
	if denied != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Log("ovn-controller"), Says: denied})
	}
	p.Report(f)
}

// roleOf is the role that the Southbound gives to a node's connection, and the
// remote that it is of.
func roleOf(p *doctor.Pass, h *snapshot.Host) (role, remote string) {
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) != 1 {
		return "", ""
	}
	for _, r := range doctor.Endpoints(sw.OpenvSwitch[0].ExternalIDs["ovn-remote"]) {
		if !strings.HasPrefix(r, "ssl:") {
			continue
		}
		port := r[strings.LastIndexByte(r, ':')+1:]
		for _, z := range p.Zones {
			rows, err := z.Connections("OVN_Southbound")
			if err != nil {
				continue
			}
			for _, c := range rows {
				parts := strings.SplitN(c.Target, ":", 3)
				if len(parts) > 1 && parts[0] == "pssl" && parts[1] == port && c.Role != "" {
					return c.Role, r
				}
			}
		}
	}
	return "", ""
}

// commonName is the name in the certificate of a host's ovn-controller.
func commonName(_ *doctor.Pass, h *snapshot.Host, f *doctor.Finding) (string, bool) {
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
		doctor.Evidence{Source: doctor.File(keys[at].Certificate, 0), Says: fmt.Sprintf("subject %q", chain[0].Subject)},
		doctor.Evidence{Source: doctor.Other("Open_vSwitch external_ids:system-id"), Says: h.SystemID})
	return chain[0].Subject.CommonName, true
}
