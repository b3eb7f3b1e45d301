package anonymize

import (
	_ "embed"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

//go:embed keys.txt
var keysText string

//go:embed syntax.txt
var syntaxText string

//go:embed prose.txt
var proseText string

// These lists have "#" for each run of digits.
var (
	// keys are the keys of maps in OVSDB columns: options by ovn-nb(5), ovn-sb(5) and ovs-vswitchd.conf.db(5), and what CMSs
	// write in external_ids.
	keys = wordList{Make: func() map[string]bool { return listed(keysText) }}
	// syntax has the words of schemas and languages, and of what daemons print. They stay even if something is called so.
	syntax = wordList{Make: func() map[string]bool { return listed(syntaxText) }}
	// common has the words of logs. They stay where nothing is called so.
	common = wordList{Make: func() map[string]bool { return listed(proseText) }}
	// parts are the words of names that say what a thing is. They stay in any name.
	parts = wordList{Make: func() map[string]bool {
		return listed(`
GR rtoe rtoj jtor etor rtos rtots tstor stor stotr trtos rtotr cr lrp lsp provnet neutron ovnmeta patch br int ex ext k8s ovn ovs mp# mp gw# ovnk ovnkube
tap qvo qvb qbr qg qr sg pg as to ip4 ip6 v4 v6 ipv4 ipv6 IPv4 IPv6 ip tcp udp sctp icmp icmp4 icmp6 arp nd TCP UDP SCTP ICMP
NP ANP BANP CNP EF EIP UDN CDN LB NB SB IC MC CN ls lr nb sb ic np anp banp cnp dnat snat dhcp udn acl unknown dynamic router default none any all true false yes no on off up down
Service Services Node Pod Namespace Cluster Ingress Egress NetworkPolicy AdminNetworkPolicy BaselineAdminNetworkPolicy EgressFirewall EgressIP EgressQoS
EgressService LoadBalancer NodePort ClusterIP NetpolDefault NetpolNamespace NetpolNode UDNIsolation UDNEnabledService MulticastNS MulticastCluster
clusterPortGroup clusterRtrPortGroup clusterLBGroup clusterRouterLBGroup clusterSwitchLBGroup defaultDeny arpAllow NODEIP
eth# ens# eno# enp#s# enp#s#f# ens#f# enp#s#f#np# ens#f#np# bond# team# lo tun# vxlan# ovn# br# veth vxlan geneve gre stt erspan genev netdev dpif localnet hidden
ssl ptcp pssl unix punix
`)
	}}
	// wholes are names, or connected parts of names, that CMSs and OVN give of themselves.
	wholes = lazy.Value[[]string]{Make: func() []string {
		return strings.Fields(`
ovn_cluster_router node_local_switch ovn_layer2_switch transit_switch transit_router node_router node_switch TCP_cluster UDP_cluster SCTP_cluster template
node_switch_template node_router_template network-controller ovn-k8s-mp0 ovn-k8s-gw0 ovn-default ovn-cluster br-external neutron_pg_drop acl-logging
acl_log_meter ovs-netdev ovs-system ovn-controller ovn-northd ovs-vswitchd ovsdb-server vxlan_sys genev_sys gre_sys
`)
	}}
)

// kept are other forms that stay: multicast groups, tunnel devices, months, instants.
var kept = pattern.New(`^(?:_?MC_(?:flood|flood_l2|unknown|static|mrouter_flood)|(?:genev|vxlan|gre)_sys_?[0-9]*|join|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}|[0-9]{2}(?:\.[0-9]+)?Z|` +
	`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))$`)

// grown are forms of which releases have ever more, where nothing is called so: stages of logical flows, source files.
var grown = pattern.New(`^(?:l[sr]_(?:in|out)_[a-z0-9_]+|(?:ovn-)?northd\.c)$`)

// A wordList is a set of words, as normal writes them.
type wordList = lazy.Value[map[string]bool]

func listed(text string) map[string]bool {
	list := map[string]bool{}
	for _, w := range strings.Fields(text) {
		list[normal(w)] = true
	}
	return list
}

// normal returns a word with "#" for each run of digits.
func normal(w string) string {
	at := strings.IndexAny(w, "0123456789")
	if at < 0 {
		return w
	}
	var b strings.Builder
	digit := false
	for i := range len(w) {
		d := w[i] >= '0' && w[i] <= '9'
		switch {
		case !d:
			b.WriteByte(w[i])
		case !digit:
			b.WriteByte('#')
		}
		digit = d
	}
	return b.String()
}

// enumerating are columns whose strings are known ones.
var enumerating = wordList{Make: func() map[string]bool {
	return listed(`type action direction protocol pipeline severity unit policy fail_mode datapath_type datapath_types iface_types ovs_version db_version
dpdk_version system_type system_version datapath_version duplex admin_state link_state vlan_mode bond_mode lacp mode state role prefixes selection_fields update
authorization table error status link_resets cfm_fault_status option proto protocols targets target is_connected statistics capabilities ssl_protocols ssl_ciphers`)
}}

// enumeratingKeys are keys whose values are known ones.
var enumeratingKeys = wordList{Make: func() map[string]bool {
	return listed(`k8s.ovn.org/owner-type k8s.ovn.org/kind k8s.ovn.org/role k8s.ovn.org/topology direction kind role stage-name source type vendor address-family
ip-family iface-status state neutron:device_owner driver_name driver_version firmware_version default-deny-policy-type policy datapath-type ovn-encap-type
ovn-bridge-datapath-type qinq-ethtype redirect-type vxlan_mode northd_internal_version ovn-cms-options address_mode ipv6_ra_address_mode ipv6_ra_prf
tunnel_egress_iface_carrier bond_status diagnostic remote_diagnostic remote_state iface-types datapath_type port-policy-protocol protocol priority-tags
vlan-limit lacp-time last_error`)
}}

// languages are columns in OVN's languages.
var languages = wordList{Make: func() map[string]bool { return listed("match actions nat_addresses") }}
