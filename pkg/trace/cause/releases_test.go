//go:build releases

package cause

import (
	"slices"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// Other releases of OVN judge ACLs in two tables, by tiers, and number their registers differently.
func TestReleases(t *testing.T) {
	ok := lab.OVNKubernetes()
	tiers := []fault{
		{name: "ACL of the first tier drops", topology: ok, breaks: []string{"--tier=0 --name=first acl-add node2 to-lport 500 'outport == \"shop_web-2\" && tcp' drop"},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: `dropped by ACL "first" \(switch node2, to-lport 500, drop\)`, object: "first", remedy: `delete ACL "first"`, command: "ovn-nbctl acl-del node2 to-lport 500"},
		{name: "ACL of the last tier drops", topology: ok, breaks: []string{"--tier=3 --name=last acl-add node2 to-lport 500 'outport == \"shop_web-2\" && tcp' drop"},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: `dropped by ACL "last" \(switch node2, to-lport 500, tier 3, drop\)`, object: "last", remedy: `delete ACL "last"`, command: "ovn-nbctl acl-del node2 to-lport 500"},
		{name: "what no ACL allows is dropped", topology: ok, breaks: []string{"set NB_Global . options:default_acl_drop=true",
			"acl-add node1 from-lport 1 arp allow -- --apply-after-lb acl-add node1 from-lport 1 arp allow -- acl-add node1 to-lport 1 arp allow"},
			from: "shop/client", to: "shop/web-1", proto: "tcp", port: 8080,
			cause: "no ACL of switch \"node1\" allows tcp 8080 from 10.244.1.6 .*default_acl_drop", remedy: "switch node1: add an ACL that allows", command: "acl-add node1"},
	}
	wanted := []string{"policy admits another namespace", "policy denies egress", "two policies deny", "ACL rejects", "no default route",
		"port security of a port of nobody", "service without endpoints", "security group"}
	for _, release := range []string{"trixie", "sid"} {
		for _, f := range slices.Concat(okFaults(), osFaults(), tiers) {
			if slices.Contains(wanted, f.name) || slices.ContainsFunc(tiers, func(tier fault) bool { return tier.name == f.name }) {
				t.Run(release+" "+f.name, func(t *testing.T) { f.try(t, lab.Options{Release: release}) })
			}
		}
	}
}
