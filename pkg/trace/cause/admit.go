package cause

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// An admission is what must be allowed for a packet to pass.
type admission struct {
	traffic
	stop    *stop
	ingress bool
	own     decode.Object // the port whose rules deny it
	peer    netip.Addr    // the other end
}

// admissions returns the changes that would let a packet pass that an ACL denied, or that no ACL allows.
func (e *Explainer) admissions(ctx context.Context, s *stop) []change {
	p := s.packet()
	a := admission{traffic: trafficOf(&p), stop: s, ingress: s.visit.Pipeline == logicalflow.Egress}
	a.peer = a.dst
	if a.ingress {
		a.peer = a.src
	}
	if s.port != nil {
		a.own = e.portObject(ctx, s.port)
	}
	switch owner := s.by.Owner; {
	case owner.CMS == decode.Neutron:
		return e.securityGroupChanges(ctx, a)
	case owner.Kind == "NetworkPolicy":
		return e.policyChanges(ctx, a)
	case slices.Contains(denyingPolicies, owner.Kind):
		return []change{e.clusterPolicyChange(a)}
	case owner.Kind == "SecurityGroup", owner.Kind == "Subnet":
		return []change{e.kubeOVNChange(a)}
	case owner.Kind == "Namespace":
		return []change{e.multicastChange(a)}
	}
	return e.aclChanges(ctx, a)
}

// denyingPolicies are the kinds of policies whose rules can deny.
var denyingPolicies = []string{"AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy", "EgressFirewall"}

// direction returns the direction as policies name it.
func (a admission) direction() string { return choose(a.ingress, "ingress", "egress") }

// from returns "from" or "to" for the other end.
func (a admission) from() string { return choose(a.ingress, "from", "to") }

// in returns the service as policies write it: "port 8080/tcp".
func (a admission) in() string {
	if a.l4() {
		return fmt.Sprintf("port %d/%s", a.dstPort, a.protocol())
	}
	return a.protocol()
}

// admitting returns a change that is tried as a rule in memory, which allows this packet where it was denied.
func (e *Explainer) admitting(a admission, object decode.Object, text, command string) change {
	c, s := remedy(object, text, command), a.stop
	if s.flow == nil {
		return c
	}
	c.try = func(ctx context.Context, o *overlay) {
		row := sb.LogicalFlow{
			LogicalFlowMatch: s.flow.Row.LogicalFlowMatch,
			Actions:          allowing(s.flow), ExternalIDs: map[string]string{"stage-name": s.stage()},
		}
		row.UUID, row.Match = "", "reg0[7] == 1 && "+a.match()
		row.Priority++
		if f := e.net.Compile(ctx, row); f.Err() == nil {
			o.added = append(o.added, addition{tableOf(s.visit, s.step), f})
		}
	}
	return c
}

// allowing returns the actions of a flow that allows a new connection, in the dialect of one that denies: since OVN
// 23.06 ACLs leave their verdict in a register.
func allowing(f *logicalflow.Flow) string {
	const commit = "reg0[1] = 1; next;"
	if strings.Contains(f.Row.Actions, "reg8[17] = 1") || strings.Contains(f.Row.Actions, "reg8[18] = 1") {
		return "reg8[16] = 1; " + commit
	}
	return commit
}

// match returns the packet as an ACL match, without its port.
func (a admission) match() string {
	field := a.ip() + "." + choose(a.ingress, "src", "dst")
	match := fmt.Sprintf("%s == %s", field, a.peer)
	switch {
	case a.l4():
		return fmt.Sprintf("%s && %s.dst == %d", match, a.protocol(), a.dstPort)
	case a.protocol() == "icmp":
		return match + " && " + choose(a.dst.Is6(), "icmp6", "icmp4")
	}
	return fmt.Sprintf("%s && ip.proto == %d", match, a.proto)
}

// policyChanges returns changes of NetworkPolicies: a rule added to the one that comes nearest to allowing the packet,
// or to one that selects the pod.
func (e *Explainer) policyChanges(ctx context.Context, a admission) []change {
	namespace := a.namespace()
	var changes, selecting []change
	known := map[decode.Owner]bool{}
	add := func(policy decode.Owner, c change) {
		if !known[policy] && policy.Namespace == namespace {
			known[policy] = true
			changes = append(changes, c)
		}
	}
	for _, m := range e.near(ctx, a.stop) {
		policy := m.object.Owner
		if !isPolicy(policy) {
			continue
		}
		if targeted(m) {
			c := remedy(m.object, fmt.Sprintf("NetworkPolicy %s: let its podSelector select pod %s", policy.FullName(), podOf(a.own)), editPolicy(policy))
			c.try = suppose(m)
			selecting = append(selecting, c)
			continue
		}
		c := e.policyRule(a, policy)
		c.Object, c.Command = ObjectOf(m.object), e.patchPolicy(a, policy)
		add(policy, c)
	}
	for _, policy := range e.policiesOf(ctx, a) {
		add(policy, e.policyRule(a, policy))
	}
	if len(changes) == 0 {
		c := e.policyRule(a, decode.Owner{})
		c.Text = fmt.Sprintf("a NetworkPolicy in namespace %s that selects pod %s: with %s", namespace, podOf(a.own), e.ruleText(a))
		c.Command = "kubectl -n " + Shell(namespace) + " get networkpolicy"
		changes = append(changes, c)
	}
	return append(changes, selecting...)
}

// isPolicy reports whether an owner is a NetworkPolicy and the row is one of its own rules.
func isPolicy(o decode.Owner) bool { return o.Kind == "NetworkPolicy" && o.Role == decode.Own }

// targeted reports whether a rule fails only because it is not for this port.
func targeted(m miss) bool {
	for _, d := range m.missing {
		if t, ok := deciding(d); !ok || !t.Ref.Symbol.IsString() {
			return false
		}
	}
	return true
}

// policyRule returns the change that adds a rule to a policy.
func (e *Explainer) policyRule(a admission, policy decode.Owner) change {
	return e.admitting(a, decode.Object{}, fmt.Sprintf("NetworkPolicy %s: add %s", policy.FullName(), e.ruleText(a)), editPolicy(policy))
}

// ruleText returns a rule in words: "ingress from namespace shop, port 8080/tcp".
func (e *Explainer) ruleText(a admission) string {
	peer := prefix(a.peer)
	if namespace := e.namespaceAt(a.peer); namespace != "" {
		peer = "namespace " + namespace
	}
	text := fmt.Sprintf("%s %s %s", a.direction(), a.from(), peer)
	if !a.l4() {
		return text + ", every protocol" // NetworkPolicies have no ICMP
	}
	return text + ", " + a.in()
}

func editPolicy(policy decode.Owner) string {
	return fmt.Sprintf("kubectl -n %s edit networkpolicy %s", Shell(policy.Namespace), Shell(policy.Name))
}

// patchPolicy returns the command that adds a rule to a policy that has rules.
func (e *Explainer) patchPolicy(a admission, policy decode.Owner) string {
	peer := fmt.Sprintf(`{"ipBlock":{"cidr":%q}}`, prefix(a.peer))
	if namespace := e.namespaceAt(a.peer); namespace != "" {
		peer = fmt.Sprintf(`{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":%q}}}`, namespace)
	}
	rule := fmt.Sprintf(`"%s":[%s]`, a.from(), peer)
	if a.l4() {
		rule += fmt.Sprintf(`,"ports":[{"protocol":%q,"port":%d}]`, strings.ToUpper(a.protocol()), a.dstPort)
	}
	patch := fmt.Sprintf(`[{"op":"add","path":"/spec/%s/-","value":{%s}}]`, a.direction(), rule)
	return fmt.Sprintf("kubectl -n %s patch networkpolicy %s --type=json -p %s", Shell(policy.Namespace), Shell(policy.Name), Shell(patch))
}

// prefix returns an address as a single-address prefix.
func prefix(a netip.Addr) string { return netip.PrefixFrom(a, a.BitLen()).String() }

// podOf returns the pod of a switch port; empty if it has none.
func podOf(port decode.Object) string {
	return choose(port.Owner.Kind == "Pod", port.Owner.FullName(), "")
}

// namespace returns the namespace whose policies deny.
func (a admission) namespace() string {
	return choose(a.own.Owner.Kind == "Pod", a.own.Owner.Namespace, a.stop.by.Owner.Namespace)
}

// namespaceAt returns the namespace of the pod with an address; empty if there is none.
func (e *Explainer) namespaceAt(a netip.Addr) string {
	for _, p := range e.graph.PortsAt(a) {
		if namespace, _, ok := strings.Cut(p.Pod, "/"); ok {
			return namespace
		}
	}
	return ""
}

// policiesOf returns the NetworkPolicies that select the port, through its port groups, and the one that denied.
func (e *Explainer) policiesOf(ctx context.Context, a admission) []decode.Owner {
	owners := []decode.Owner{a.stop.by.Owner}
	for _, group := range e.groupsOf(ctx, a.own) {
		owners = append(owners, group.Owner)
	}
	return slices.DeleteFunc(owners, func(o decode.Owner) bool { return !isPolicy(o) })
}

// groupsOf returns the port groups of a port.
func (e *Explainer) groupsOf(ctx context.Context, port decode.Object) []decode.Object {
	p := e.graph.PortByName(port.Name)
	if p == nil {
		return nil
	}
	var groups []decode.Object
	for _, name := range p.PortGroups {
		if group, ok := e.objects.Named(ctx, "Port_Group", name); ok {
			groups = append(groups, group)
		}
	}
	return groups
}

// clusterPolicyChange returns the change for a policy with deny rules: an exception before the rule.
func (e *Explainer) clusterPolicyChange(a admission) change {
	owner := a.stop.by.Owner
	in := choose(owner.Namespace == "", "", " -n "+Shell(owner.Namespace))
	command := fmt.Sprintf("kubectl%s edit %s %s", in, strings.ToLower(owner.Kind), Shell(owner.Name))
	return e.admitting(a, a.stop.by, fmt.Sprintf("%s: allow %s, before the rule that denies it", owner, e.ruleText(a)), command)
}

func (e *Explainer) kubeOVNChange(a admission) change {
	owner := a.stop.by.Owner
	text := fmt.Sprintf("%s: add to %sRules %s %s, %s, policy allow", owner, a.direction(), a.from(), prefix(a.peer), a.in())
	command := "kubectl edit security-group " + Shell(owner.Name)
	if owner.Kind == "Subnet" {
		text = fmt.Sprintf("%s: change spec.acls: %s %s %s, %s, is denied by \"%s\"", owner, a.direction(), a.from(), a.peer, a.in(), aclOf(a.stop).Match)
		command = "kubectl edit subnet " + Shell(owner.Name)
	}
	return e.admitting(a, a.stop.by, text, command)
}

func (e *Explainer) multicastChange(a admission) change {
	owner := a.stop.by.Owner
	return e.admitting(a, a.stop.by, owner.String()+": allow multicast", fmt.Sprintf("kubectl annotate namespace %s k8s.ovn.org/multicast-enabled=true", Shell(owner.Name)))
}

// securityGroupChanges returns changes that add a rule to a security group of the port.
func (e *Explainer) securityGroupChanges(ctx context.Context, a admission) []change {
	var changes []change
	for _, group := range e.securityGroups(ctx, a) {
		text := fmt.Sprintf("security group %s: add a rule for %s %s %s, %s", group, a.direction(), a.from(), prefix(a.peer), a.in())
		words := []string{"openstack security group rule create", "--" + a.direction(), "--ethertype", choose(a.peer.Is6(), "IPv6", "IPv4"), "--protocol", a.neutronProtocol()}
		if a.l4() {
			words = append(words, "--dst-port", fmt.Sprint(a.dstPort))
		}
		words = append(words, "--remote-ip", prefix(a.peer), Shell(group))
		changes = append(changes, e.admitting(a, decode.Object{}, text, strings.Join(words, " ")))
	}
	return changes
}

// neutronProtocol returns the protocol as Neutron writes it.
func (a admission) neutronProtocol() string {
	switch {
	case a.protocol() == "icmp" && a.dst.Is6():
		return "ipv6-icmp"
	case a.l4(), a.protocol() == "icmp":
		return a.protocol()
	}
	return fmt.Sprint(a.proto)
}

// securityGroups returns the port's security groups.
func (e *Explainer) securityGroups(ctx context.Context, a admission) []string {
	if row, ok := a.own.Row.(nb.LogicalSwitchPort); ok {
		if groups := strings.Fields(row.ExternalIDs["neutron:security_group_ids"]); len(groups) > 0 {
			return groups
		}
	}
	var groups []string
	for _, group := range e.groupsOf(ctx, a.own) {
		if o := group.Owner; o.CMS == decode.Neutron && o.Role == decode.Own {
			groups = append(groups, o.Name)
		}
	}
	return groups
}

func aclOf(s *stop) nb.ACL {
	acl, _ := s.by.Row.(nb.ACL)
	return acl
}

// aclChanges returns the changes for plain OVN: add an address to a set that a near rule names, delete the denying ACL,
// or add an allowing one above it.
func (e *Explainer) aclChanges(ctx context.Context, a admission) []change {
	var changes []change
	for _, m := range e.near(ctx, a.stop) {
		if set := missingSet(m, a.peer); set != "" {
			c := remedy(m.object, fmt.Sprintf("address set %s: add %s", set, a.peer), fmt.Sprintf("ovn-nbctl add Address_Set %s addresses %s", Shell(set), Shell(`"`+a.peer.String()+`"`)))
			c.try = suppose(m)
			changes = append(changes, c)
		}
	}
	s := a.stop
	if s.kind == journey.NotAllowed {
		return append(changes, e.aclAddition(a, decode.Holder{Kind: decode.SwitchHolder, Name: s.visit.Datapath.Name}, 1000))
	}
	acl := aclOf(s)
	deletion := remedy(s.by, "delete "+ObjectOf(s.by).Text, aclCommand("acl-del", s.by.Holder, acl.Direction, fmt.Sprint(acl.Priority), acl.Match))
	deletion.try = without(s.flow)
	addition := e.aclAddition(a, s.by.Holder, acl.Priority+1)
	if defaultDeny(s) {
		return append(changes, addition, deletion)
	}
	return append(changes, deletion, addition)
}

// missingSet returns the address set that lacks only the other end for a rule to match; empty if more is missing.
func missingSet(m miss, peer netip.Addr) string {
	if len(m.missing) != 1 {
		return ""
	}
	t, ok := deciding(m.missing[0])
	if !ok || cost(t) != costAddress || !strings.HasPrefix(t.Ref.String(), choose(peer.Is6(), "ip6", "ip4")) {
		return ""
	}
	for _, c := range t.Constants() {
		if name, isSet := strings.CutPrefix(c.String(), "$"); isSet {
			return name
		}
	}
	return ""
}

// aclAddition returns the change that adds an ACL which allows the requested traffic and nothing else.
func (e *Explainer) aclAddition(a admission, holder decode.Holder, priority int) change {
	match := fmt.Sprintf("%s == %q && %s", choose(a.ingress, "outport", "inport"), a.own.Name, a.match())
	acl := aclOf(a.stop)
	var flags []string
	if acl.Tier != 0 {
		flags = append(flags, fmt.Sprintf("--tier=%d", acl.Tier))
	}
	when := ""
	if strings.Contains(a.stop.stage(), "after_lb") {
		flags, when = append(flags, "--apply-after-lb"), ", after load balancing"
	}
	direction := choose(a.ingress, "to-lport", "from-lport")
	command := aclCommand(strings.Join(append(flags, "acl-add"), " "), holder, direction, fmt.Sprint(priority), match) + " allow-related"
	text := fmt.Sprintf("%s: add an ACL that allows %s %s %s, %s%s", holder, a.direction(), a.from(), e.address(a.peer), a.in(), when)
	return e.admitting(a, decode.Object{}, text, command)
}

// aclCommand returns an ovn-nbctl command for ACLs of a port group or a switch.
func aclCommand(command string, holder decode.Holder, direction, priority, match string) string {
	group := choose(holder.Kind == decode.GroupHolder, "--type=port-group ", "")
	return fmt.Sprintf("ovn-nbctl %s%s %s %s %s %s", group, command, Shell(holder.Name), Shell(direction), priority, Shell(match))
}
