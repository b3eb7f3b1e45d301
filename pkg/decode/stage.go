package decode

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Pipeline is "ingress" or "egress", as Logical_Flow.pipeline writes it.
type Pipeline string

// The two halves of a logical datapath.
const (
	Ingress Pipeline = "ingress"
	Egress  Pipeline = "egress"
)

// A Kind is the kind of a logical datapath.
type Kind string

// The kinds of logical datapath; the zero Kind means unknown.
const (
	Switch Kind = "switch"
	Router Kind = "router"
)

// stageOf parses kind and pipeline from a stage-name such as "lr_in_ip_routing".
func stageOf(stage string) (Kind, Pipeline, bool) {
	var (
		kind     Kind
		pipeline Pipeline
	)
	of, rest, _ := strings.Cut(stage, "_")
	way, _, named := strings.Cut(rest, "_")
	switch of {
	case "ls":
		kind = Switch
	case "lr":
		kind = Router
	}
	switch way {
	case "in":
		pipeline = Ingress
	case "out":
		pipeline = Egress
	}
	if !named {
		return "", "", false
	}
	return kind, pipeline, kind != "" && pipeline != ""
}

// stageWords explains stages by the part of the name that is the same in all releases, without direction: "ls_acl"
// stands for ls_in_acl, ls_out_acl and ls_in_acl_eval (23.06). The longest match wins; a star becomes the pipeline.
var stageWords = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"ls_port_sec_l2":          "port security: MAC address",
		"ls_port_sec_ip":          "port security: IP address",
		"ls_port_sec_nd":          "port security: ARP and ND",
		"ls_check_port_sec":       "port security *",
		"ls_apply_port_sec":       "port security verdict",
		"ls_lookup_fdb":           "is the source MAC learned?",
		"ls_put_fdb":              "learn the source MAC",
		"ls_mirror":               "port mirroring",
		"ls_pre_acl":              "does an ACL need conntrack?",
		"ls_pre_lb":               "does a load balancer need conntrack?",
		"ls_pre_stateful":         "through conntrack",
		"ls_acl_hint":             "what the connection's state means to ACLs",
		"ls_acl":                  "ACL *",
		"ls_acl_action":           "ACL verdict *",
		"ls_acl_sample":           "ACL sampling *",
		"ls_acl_after_lb":         "ACL after load balancing",
		"ls_acl_after_lb_action":  "ACL verdict after load balancing",
		"ls_acl_after_lb_sample":  "ACL sampling after load balancing",
		"ls_qos":                  "QoS *",
		"ls_qos_mark":             "QoS marking *",
		"ls_qos_meter":            "QoS metering *",
		"ls_lb":                   "load balancer",
		"ls_lb_aff_check":         "session affinity: known client?",
		"ls_lb_aff_learn":         "session affinity: learn the client",
		"ls_stateful":             "commit the connection",
		"ls_pre_hairpin":          "is the backend the client itself?",
		"ls_nat_hairpin":          "hairpin: SNAT",
		"ls_hairpin":              "hairpin: send back",
		"ls_arp_rsp":              "ARP and ND responder",
		"ls_arp_nd_rsp":           "ARP and ND responder",
		"ls_dhcp_options":         "DHCP: make the reply",
		"ls_dhcp_response":        "DHCP: send the reply",
		"ls_dns_lookup":           "DNS: look up",
		"ls_dns_response":         "DNS: send the reply",
		"ls_external_port":        "external ports",
		"ls_l2_lkup":              "destination MAC lookup",
		"ls_l2_unknown":           "destination MAC unknown",
		"ls_network_function":     "redirect to a network function",
		"ls_pre_network_function": "does a network function apply?",
		"ls_ct_extract":           "original addresses from conntrack",

		"lr_admission":       "admission by destination MAC",
		"lr_lookup_neighbor": "is the neighbour known?",
		"lr_learn_neighbor":  "learn the neighbour",
		"lr_ip_input":        "packets for the router itself",
		"lr_dhcp_relay":      "DHCP relay",
		"lr_unsnat":          "undo SNAT",
		"lr_post_unsnat":     "after undoing SNAT",
		"lr_defrag":          "through conntrack",
		"lr_ct_extract":      "original addresses from conntrack",
		"lr_lb_aff_check":    "session affinity: known client?",
		"lr_lb_aff_learn":    "session affinity: learn the client",
		"lr_dnat":            "DNAT and load balancers",
		"lr_ecmp_stateful":   "symmetric replies of equal routes",
		"lr_nd_ra_options":   "router advertisement: make",
		"lr_nd_ra_response":  "router advertisement: send",
		"lr_ip_routing":      "routing",
		"lr_ip_routing_pre":  "choice of the route table",
		"lr_ip_routing_ecmp": "choice among equal routes",
		"lr_policy":          "routing policy",
		"lr_policy_ecmp":     "choice among the policy's next hops",
		"lr_arp_resolve":     "the next hop's MAC",
		"lr_chk_pkt_len":     "packet length check",
		"lr_larger_pkts":     "packets above the MTU",
		"lr_gw_redirect":     "redirect to the gateway chassis",
		"lr_network_id":      "which of the port's networks",
		"lr_arp_request":     "ask for the next hop's MAC",
		"lr_chk_dnat_local":  "was it DNATed here?",
		"lr_undnat":          "undo DNAT",
		"lr_post_undnat":     "after undoing DNAT",
		"lr_snat":            "SNAT",
		"lr_post_snat":       "after SNAT",
		"lr_egr_loop":        "back in, to a NAT address of its own",
		"lr_delivery":        "delivery to the port",
	}
}}

// explainStage describes in a few words what the stage in Logical_Flow.external_ids:stage-name does, for every
// release from 20.12 to 26.03: explain("ls_in_acl_eval") is "ACL ingress". An unknown stage is returned as is.
func explainStage(stage string) string {
	_, pipeline, ok := stageOf(stage)
	if !ok {
		return stage
	}
	parts := strings.SplitN(stage, "_", 3)
	for name := parts[0] + "_" + parts[2]; len(name) > len("ls"); {
		if words, ok := stageWords.Get()[name]; ok {
			return strings.Replace(words, "*", string(pipeline), 1)
		}
		name = name[:strings.LastIndexByte(name, '_')]
	}
	return stage
}

// explainFlow explains a logical flow's stage, adding ovn-northd's own description of the flow if there is one (24.03
// and later), which for drops is the reason.
func explainFlow(row sb.LogicalFlowNames) string {
	words := explainStage(row.ExternalIDs["stage-name"])
	if desc := row.FlowDesc.Get(); desc != "" {
		return words + ": " + desc
	}
	return words
}
