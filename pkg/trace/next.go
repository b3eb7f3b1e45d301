package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// next returns the command to run next; none if the packet is delivered.
func (t *tracer) next(ask *question, v journey.Verdict, found []journey.Disagreement) []string {
	if v.Outcome == journey.Delivered {
		return []string{}
	}
	if len(found) > 0 && v.Outcome != journey.Unknown {
		return []string{found[0].Repair}
	}
	v.Datapath = rowName(v.Datapath) // commands take the name of the row
	port := t.graph.PortByName(v.Port)
	if commands := showGroups(v, port); len(commands) > 0 && len(v.WhyNot) == 0 {
		return commands
	}
	return []string{nextCommand(ask.request, v, port, t.cluster.Offline())}
}

// showGroups returns the commands that show the security groups that stopped a packet; none if they did not.
func showGroups(v journey.Verdict, port *topology.Port) []string {
	if v.Because.Kind != journey.Denied || v.Object == nil || port == nil {
		return nil
	}
	show := ""
	switch owner := v.Object.Owner; {
	case owner.CMS == decode.Neutron:
		show = "openstack security group rule list "
	case owner.Kind == "SecurityGroup":
		show = "kubectl describe security-group "
	default:
		return nil
	}
	var commands []string
	for _, group := range port.SecurityGroups() {
		commands = append(commands, show+cause.Shell(group))
	}
	return commands
}

// nextCommand derives the next command from a verdict and its port, nil if none. Offline: nothing live can be read.
func nextCommand(r journey.Request, v journey.Verdict, port *topology.Port, offline bool) string {
	if len(v.WhyNot) > 0 && v.WhyNot[0].Command != "" {
		return v.WhyNot[0].Command
	}
	if v.Object != nil {
		if command := showOwner(v.Object.Owner); command != "" {
			return command
		}
	}
	if command := byKind(r, v, port, offline); command != "" {
		return command
	}
	switch {
	case port != nil:
		return cause.Shell("ovnctl", "topology", "show", portQuestion(port))
	case v.Object != nil && len(v.Object.UUID) >= 8:
		return "ovnctl topology show " + short(v.Object.UUID)
	case v.Node != "":
		return cause.Shell("ovnctl", "topology", "show", "node:"+v.Node)
	}
	return "ovnctl topology show"
}

// byKind returns the command for a kind of cause; empty if the object itself should be inspected.
func byKind(r journey.Request, v journey.Verdict, port *topology.Port, offline bool) string {
	switch c := v.Because; c.Kind {
	case journey.NodeUnread, journey.ChassisUnreachable:
		if !offline {
			return repeat(r, "--via", "ssh")
		}
	case journey.NotRecorded:
		return repeat(r, "--via", "ssh", "--record", "DIR")
	case journey.ChassisUnread, journey.FlowsUnread, journey.ZoneUnread, journey.LogicalUnread:
		return "ovs-vsctl get Open_vSwitch . external_ids:ovn-remote"
	case journey.VswitchdSilent:
		return "ovs-appctl -T 5 -t ovs-vswitchd version  # on " + cause.Shell(v.Node)
	case journey.NoBackends:
		if v.Object != nil {
			return ofService(v.Object.Owner, "get endpointslices -l kubernetes.io/service-name=")
		}
	case journey.NotBalanced:
		if c.Object != nil {
			if command := ofService(c.Object.Owner, "get service "); command != "" {
				return command
			}
		}
		return "ovnctl topology show svc:" + c.Address.String()
	case journey.Isolated:
		return cause.Shell("ovnctl", "topology", "show", "lsp:"+c.Port)
	case journey.RoutedOutside:
		return cause.Shell("ovn-nbctl", "lr-route-list", c.Datapath)
	case journey.NoRouteBack, journey.RouteBackUnsure:
		if v.Datapath == "" {
			return "nft list ruleset  # on " + cause.Shell(v.Node)
		}
		return cause.Shell("ovn-nbctl", "lr-nat-list", v.Datapath)
	case journey.NobodyAnswers, journey.NoRouteIn, journey.ReplyStrays:
		return "ovnctl topology show" // shows who has which address
	case journey.NoChecksum:
		return cause.Shell("ethtool", "-K", c.Link, "tx", "off") + "  # in the network namespace of " + c.Port
	case journey.OverRate:
		if c.Object != nil {
			return "ovn-nbctl list QoS " + string(c.Object.UUID)
		}
	case journey.WrongNeighbour:
		if c.Place == "" {
			return "ovn-sbctl list MAC_Binding"
		}
	case journey.NextHopUnknown:
		return "ovn-sbctl list MAC_Binding"
	case journey.NoUplink, journey.UplinkDown, journey.UplinkNotFound:
		return cause.Shell("ovnctl", "topology", "show", "--physical", "node:"+v.Node)
	case journey.UnknownMAC: // a row or a flow has a stale address
		if v.Node != "" {
			return cause.Shell("ovnctl", "doctor", "node:"+v.Node)
		}
	case journey.Denied:
		if v.Object != nil {
			return "ovn-nbctl list ACL " + string(v.Object.UUID)
		}
	case journey.Discarded:
		if v.Object != nil && v.Object.Kind == "route" {
			return cause.Shell("ovn-nbctl", "lr-route-list", v.Datapath)
		}
	}
	if command := beneath(v); command != "" {
		return command + "  # on " + cause.Shell(v.Node)
	}
	return byPlace(v, port)
}

// beneath returns the command that shows what is wrong on a node beneath OVN; empty for other causes.
func beneath(v journey.Verdict) string {
	c := v.Because
	switch c.Kind {
	case journey.VLANMismatch:
		return cause.Shell("ovs-vsctl", "list", "Port", c.Link)
	case journey.VLANUnknown, journey.LinkTooSmall, journey.ManagementDown:
		return cause.Shell("ip", "-d", "link", "show", c.Link)
	case journey.LeavesInVLAN:
		return cause.Shell("ip", "neigh", "show", "to", c.Address.String(), "dev", c.Bridge)
	case journey.QueueDrops:
		if c.Place == "" {
			return cause.Shell("tc", "-s", "qdisc", "show", "dev", c.Link)
		}
	case journey.BondDown:
		return cause.Shell("ovs-appctl", "bond/show", c.Link)
	case journey.MirrorOutput:
		return cause.Shell("ovs-vsctl", "list", "Mirror", c.Detail)
	case journey.TableFull:
		return cause.Shell("ovnctl", "doctor", "node:"+c.Node)
	case journey.ZoneFull:
		return "ovs-appctl dpctl/ct-get-limits"
	case journey.PortBlocked:
		return cause.Shell("ovs-ofctl", "show", c.Bridge)
	case journey.ConnectionUnseen:
		if v.Node != "" {
			return "ovs-appctl dpctl/dump-conntrack"
		}
	case journey.TunnelNotTaken:
		return "ovs-appctl tnl/ports/show -v"
	case journey.SameMAC:
		return "ip link show"
	case journey.OwnAddress:
		return cause.Shell("ip", "addr", "show", "to", c.Address.String())
	case journey.NoAnswer:
		return cause.Shell("ip", "neigh", "show", "to", c.Address.String())
	case journey.GatewaySilent:
		return cause.Shell("ip", "route", "get", c.Other.String())
	case journey.TunnelOptions:
		return cause.Shell("ovs-vsctl", "list", "Interface", c.Link)
	case journey.OtherWorkload:
		return cause.Shell("ovs-vsctl", "list", "Interface", c.Link)
	case journey.NoMapping:
		return "ovs-vsctl get Open_vSwitch . external_ids:ovn-bridge-mappings"
	}
	if c.Place != journey.OnHost {
		return ""
	}
	switch c.Kind {
	case journey.WrongNeighbour:
		return "ip neighbour show " + c.Address.String()
	case journey.Filtered:
		return "nft list ruleset"
	case journey.IPsecBlocks:
		return "ip xfrm policy"
	case journey.IPsecLacks:
		return "ip xfrm state list nokeys"
	case journey.NobodyListens:
		return "ss -lntu"
	case journey.NobodyAccepts:
		return "ss -lnt"
	}
	return ""
}

// insidePod are the commands that show in a pod what is wrong with it.
var insidePod = lazy.Value[map[journey.CauseKind][]string]{Make: func() map[journey.CauseKind][]string {
	return map[journey.CauseKind][]string{
		journey.QueueDrops:  {"tc", "-s", "qdisc"},
		journey.IPsecBlocks: {"ip", "xfrm", "policy"}, journey.IPsecLacks: {"ip", "xfrm", "state", "list", "nokeys"},
		journey.Filtered: {"nft", "list", "ruleset"}, journey.NobodyListens: {"ss", "-lntu"}, journey.NobodyAccepts: {"ss", "-lnt"}, journey.WrongNeighbour: {"ip", "neighbour", "show"},
		journey.NoSuchGateway: {"ip", "route", "show"}, journey.OtherSource: {"ip", "route", "show"}, journey.NobodyBehind: {"ss", "-lntu"},
		journey.SentElsewhere: {"nft", "list", "ruleset"}, journey.OtherSourceNAT: {"nft", "list", "ruleset"},
	}
}}

// byPlace returns the command for what OVN does not know, a pod's routes and addresses; otherwise that for a route
// missing from a router, or empty.
func byPlace(v journey.Verdict, port *topology.Port) string {
	switch c := v.Because; {
	case c.Place == journey.InWorkload && port != nil && c.Workload == journey.Pod:
		namespace, pod, _ := strings.Cut(port.Pod, "/")
		show := insidePod.Get()[c.Kind]
		switch {
		case c.Kind == journey.EchoIgnored:
			show = []string{"sysctl", c.Detail}
		case show == nil:
			show = []string{"ip", "addr", "show"}
		}
		return cause.Shell(append([]string{"kubectl", "-n", namespace, "exec", pod, "--"}, show...)...)
	case c.Place == "" && c.Kind == journey.NoRoute:
		return cause.Shell("ovn-nbctl", "lr-route-list", v.Datapath)
	}
	return ""
}

func portQuestion(p *topology.Port) string {
	if p.Kind == topology.RouterPort {
		return "lrp:" + p.Name
	}
	return "lsp:" + p.Name
}

// repeat returns the command that runs the same trace again, with more flags.
func repeat(r journey.Request, more ...string) string {
	var words []string
	if r.Port != 0 {
		words = append(words, fmt.Sprintf("--%s=%d", r.Protocol, r.Port))
	}
	if r.Family == 6 {
		words = append(words, "-6")
	}
	if r.Length != 0 {
		words = append(words, fmt.Sprintf("--length=%d", r.Length))
	}
	if r.DSCP != 0 {
		words = append(words, fmt.Sprintf("--dscp=%d", r.DSCP))
	}
	if r.Backend != "" {
		words = append(words, "--backend="+r.Backend)
	}
	return cause.Ovnctl("trace", []string{r.From.Text, r.To.Text}, append(words, more...)...)
}

// showOwner returns the command that shows the object a row was made for, for kinds without a better one; else empty.
func showOwner(o decode.Owner) string {
	switch {
	case slices.Contains(described, o.Kind) && o.Role == decode.Own && kubernetesName(o.Name):
		return strings.Join(strings.Fields("kubectl "+behindFlag("-n", o.Namespace)+" describe "+strings.ToLower(o.Kind)+" "+o.Name), " ")
	case o.Kind != "NetworkPolicy" || !kubernetesName(o.Namespace):
		return ""
	case o.Role == decode.DefaultDeny:
		return "kubectl -n " + o.Namespace + " get networkpolicy"
	case o.Role == decode.Own && kubernetesName(o.Name):
		return fmt.Sprintf("kubectl -n %s describe networkpolicy %s", o.Namespace, o.Name)
	}
	return ""
}

// ofService returns kubectl's command about a service; empty if the owner is none.
func ofService(o decode.Owner, command string) string {
	if o.Kind != "Service" || !kubernetesName(o.Namespace) || !kubernetesName(o.Name) {
		return ""
	}
	return "kubectl -n " + o.Namespace + " " + command + o.Name
}

// described are the kinds of objects of Kubernetes, other than NetworkPolicy, whose rules stop packets.
var described = []string{"AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy", "EgressFirewall", "EgressIP", "EgressService", "Subnet"}

// behindFlag returns a flag with its value, empty if that is no name of Kubernetes.
func behindFlag(flag, value string) string {
	if !kubernetesName(value) {
		return ""
	}
	return flag + " " + value
}

// kubernetesName reports whether a word is a valid Kubernetes name, which a shell needs no quotes for.
func kubernetesName(word string) bool {
	return word != "" && word[0] != '-' && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// command records a classic command that shows the same, as typed on the node.
func (t *tracer) command(n *nodeView, text string) {
	if line := n.Name + ": " + text; !slices.Contains(t.commands, line) {
		t.commands = append(t.commands, line)
	}
}
