package northbound

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ACLDrops = &doctor.Check{
	Name:     "acl-drops",
	Category: "policy",
	Doc: `A network policy drops allowed traffic: its address sets or port groups are wrong

ovn-controller ignores a rule whose match names an address set or port group that does not exist,
and a port that is in the group that denies but in none that allows is cut off. An intended deny
is not reported: ovnctl trace shows which rule drops a packet.`,
	Causes: []string{"kube-ovn-join-gap"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for z, l := range p.Northbounds() {
			lists, ok := doctor.Need(p, doctor.NorthboundObject, z.AccessLists)
			if !ok {
				continue
			}
			a := policies{Pass: p, l: l, lists: lists}
			a.matches()
			a.memberships()
			a.denied()
			a.groupless()
		}
	},
}

// policies holds the rules, address sets and port groups of a zone.
type policies struct {
	*doctor.Pass
	l     *facts.Logical
	lists *snapshot.AccessLists
}

// A rule is a row with a match.
type rule struct {
	object doctor.Object
	row    func() doctor.Evidence // rarely needed
	match  string
	ids    map[string]string
}

// rules returns the ACLs and routing policies.
func (a *policies) rules() []rule {
	out := make([]rule, 0, len(a.lists.ACLs)+len(a.l.Policies))
	for acl := range doctor.Each(a.lists.ACLs) {
		name := cmp.Or(acl.Name.Get(), doctor.Short(acl.UUID))
		row := func() doctor.Evidence {
			return doctor.NBRow("ACL", acl.UUID, "%s: direction=%s, priority=%d, action=%s, match=%s", name, acl.Direction, acl.Priority, acl.Action, acl.Match)
		}
		out = append(out, rule{doctor.Object{Kind: "ACL", Name: name}, row, acl.Match, acl.ExternalIDs})
	}
	routerOf := map[ovsdb.UUID]string{}
	for i := range a.l.Routers {
		for _, id := range a.l.Routers[i].Policies {
			routerOf[id] = a.l.Routers[i].Name
		}
	}
	for policy := range doctor.Each(a.l.Policies) {
		row := func() doctor.Evidence {
			return doctor.NBRow("Logical_Router_Policy", policy.UUID, "priority=%d, action=%s, match=%s", policy.Priority, policy.Action, policy.Match)
		}
		out = append(out, rule{doctor.Object{Kind: "routing policy", Name: fmt.Sprintf("%d of router %s", policy.Priority, routerOf[policy.UUID])}, row, policy.Match, policy.ExternalIDs})
	}
	return out
}

// matches reports matches that name missing objects, and matches that OVN cannot parse.
func (a *policies) matches() {
	sets, groups := map[string]bool{"svc_monitor_mac": true}, map[string]bool{}
	for i := range a.lists.AddressSets {
		sets[a.lists.AddressSets[i].Name] = true
	}
	for i := range a.lists.PortGroups {
		name := a.lists.PortGroups[i].Name
		groups[name], sets[name+"_ip4"], sets[name+"_ip6"] = true, true, true
	}
	missing := map[string][]rule{} // by "$set" and "@group"
	for _, r := range a.rules() {
		for _, name := range setNames(r.match) {
			known := sets
			if name[0] == '@' {
				known = groups
			}
			if !known[name[1:]] {
				missing[name] = append(missing[name], r)
			}
		}
		if _, err := ovnexpr.ParseMatch(r.match); err != nil {
			a.Report(doctor.Finding{
				Object:   r.object,
				Reason:   "match",
				Title:    fmt.Sprintf("OVN cannot parse the match of %s", r.object),
				Evidence: []doctor.Evidence{r.row()},
				Cause:    err.Error(),
				Effect:   ignored,
				Next:     "correct the match in the CMS that owns the rule",
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		a.missing(name, missing[name])
	}
}

const ignored = "ovn-controller ignores the rule: other rules deny what it should allow, and nothing denies what it should deny"

// missing reports an address set or port group that rules name but that does not exist.
func (a *policies) missing(name string, rules []rule) {
	kind, table := "address set", "Address_Set"
	if name[0] == '@' {
		kind, table = "port group", "Port_Group"
	}
	f := doctor.Finding{
		Object: doctor.Object{Kind: kind, Name: name[1:]},
		Reason: "missing",
		Title:  fmt.Sprintf("%s names the %s %s, which does not exist", rules[0].object, kind, name[1:]),
		Cause:  "the " + kind + " was deleted, renamed or never written",
		Effect: ignored,
		Next:   fixes.Command("ovn-nbctl create %s name=%s, with its members; if a CMS owns it, have the CMS write it", table, name[1:]),
	}
	if len(rules) > 1 {
		f.Title = fmt.Sprintf("%d rules name the %s %s, which does not exist", len(rules), kind, name[1:])
	}
	if owner := decode.CMSOf(rules[0].ids); owner != "" {
		f.Next = fmt.Sprintf("%s owns the rule and writes its sets and groups again: %s. By hand: ovn-nbctl create %s name=%s, with its members", owner, doctor.Rewrite(owner), table, fixes.Word(name[1:]))
	}
	for _, r := range rules[:min(len(rules), 5)] {
		f.Evidence = append(f.Evidence, r.row())
		f.Also = append(f.Also, r.object)
	}
	f.Evidence = append(f.Evidence, doctor.NB(table, "").Says("has no row named "+name[1:]))
	a.Report(f)
}

// setNames returns a match's address sets ("$name") and port groups ("@name"), each once.
func setNames(match string) []string {
	var out []string
	quoted := false
	for i := 0; i < len(match); i++ {
		switch c := match[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '/' && strings.HasPrefix(match[i:], "/*"):
			end := strings.Index(match[i+2:], "*/")
			if end < 0 {
				return out
			}
			i += end + 3
		case c == '$' || c == '@':
			j := i + 1
			for j < len(match) && isName(match[j]) {
				j++
			}
			if name := match[i:j]; len(name) > 1 && !slices.Contains(out, name) {
				out = append(out, name)
			}
			i = j - 1
		}
	}
	return out
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c >= 0x80
}

// memberships reports ports missing from the port group of one of their security groups.
func (a *policies) memberships() {
	type group struct {
		row *nb.PortGroup
		has map[ovsdb.UUID]bool
	}
	groups := map[string]*group{}
	find := func(name string) *group {
		g := groups[name]
		if g != nil && g.has == nil {
			g.has = make(map[ovsdb.UUID]bool, len(g.row.Ports))
			for _, id := range g.row.Ports {
				g.has[id] = true
			}
		}
		return g
	}
	for i := range a.lists.PortGroups {
		groups[a.lists.PortGroups[i].Name] = &group{row: &a.lists.PortGroups[i]}
	}
	lacking := map[string][]*nb.LogicalSwitchPortBrief{}
	record := map[string]string{} // the key by which the ports name their group
	for port := range doctor.Each(a.l.SwitchPorts) {
		for _, m := range securityGroups(port) {
			if g := find(m.group); g == nil && m.required || g != nil && !g.has[port.UUID] {
				lacking[m.group] = append(lacking[m.group], port)
				record[m.group] = m.key
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lacking)) {
		ports := lacking[name]
		var names []string
		f := doctor.Finding{
			Object: doctor.Object{Kind: "port group", Name: name},
			Reason: "members",
			Cause:  "the port group lost its members, or never got them",
			Effect: "the rules of this security group do not apply to them: what the rules allow is denied",
			Next:   cmp.Or(doctor.Rewrite(decode.CMSOf(ports[0].ExternalIDs)), "have the CMS write its groups again"),
		}
		for _, port := range ports {
			names = append(names, doctor.PortLabel(port))
			f.Also = append(f.Also, doctor.PortObject(port.Name))
			if len(f.Evidence) < 4 {
				f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Switch_Port", port.UUID, "%s: external_ids:%s=%s", port.Name, record[name], port.ExternalIDs[record[name]]))
			}
		}
		f.Title = fmt.Sprintf("%d ports have a security group but are not in its port group %s: %s", len(ports), name, doctor.AtMost(names, 5))
		if len(ports) == 1 {
			f.Title = fmt.Sprintf("port %s has a security group but is not in its port group %s", names[0], name)
		}
		if g := groups[name]; g == nil {
			f.Cause = "the port group does not exist"
			f.Evidence = append(f.Evidence, doctor.NB("Port_Group", "").Says("has no row named "+name))
		} else {
			f.Evidence = append(f.Evidence, doctor.NBRow("Port_Group", g.row.UUID, "%s: %d ports, %d rules", name, len(g.row.Ports), len(g.row.ACLs)))
		}
		a.Report(f)
	}
}

// A membership is a port group that a port must be in, according to its CMS.
type membership struct {
	group, key string
	required   bool // the group must exist
}

func securityGroups(port *nb.LogicalSwitchPortBrief) []membership {
	var out []membership
	for _, id := range strings.Fields(port.ExternalIDs["neutron:security_group_ids"]) {
		out = append(out, membership{"pg_" + strings.ReplaceAll(id, "-", "_"), "neutron:security_group_ids", true})
	}
	if port.ExternalIDs["vendor"] == "kube-ovn" {
		for key, value := range port.ExternalIDs {
			if name, ok := strings.CutPrefix(key, "associated_sg_"); ok && value == "true" {
				out = append(out, membership{strings.ReplaceAll("ovn.sg."+name, "-", "."), key, false})
			}
		}
	}
	return out
}

// groupless reports policies of Kube-OVN without a port group, or with one that has no rules: its address sets are left.
func (a *policies) groupless() {
	groups := map[string]*nb.PortGroup{}
	for g := range doctor.Each(a.lists.PortGroups) {
		groups[g.ExternalIDs["np"]] = g
	}
	sets := map[string][]*nb.AddressSet{}
	for s := range doctor.Each(a.lists.AddressSets) {
		// "bank/allow-shop/ingress": the policy and the direction of the set's rule.
		if policy := path.Dir(s.ExternalIDs["np"]); s.ExternalIDs["vendor"] == "kube-ovn" && strings.Contains(policy, "/") {
			sets[policy] = append(sets[policy], s)
		}
	}
	for _, policy := range slices.Sorted(maps.Keys(sets)) {
		g := groups[policy]
		if g != nil && len(g.ACLs) > 0 {
			continue
		}
		f := doctor.Finding{
			Object: doctor.Object{Kind: "policy", Name: policy},
			Reason: "group",
			Title:  fmt.Sprintf("NetworkPolicy %s has no port group, so none of its rules apply", policy),
			Cause:  "the port group was deleted, and its rules with it",
			Effect: "what the policy allows is denied if another one selects the pods, and allowed from everywhere if none does",
			Next:   doctor.Rewrite(decode.KubeOVN),
		}
		for _, s := range sets[policy][:min(len(sets[policy]), 4)] {
			f.Evidence = append(f.Evidence, doctor.NBRow("Address_Set", s.UUID, "%s: external_ids:np=%s", s.Name, s.ExternalIDs["np"]))
		}
		if g == nil {
			f.Evidence = append(f.Evidence, doctor.NB("Port_Group", "").Says("has no row with external_ids:np="+policy))
		} else {
			f.Title = fmt.Sprintf("the port group of NetworkPolicy %s has no rules", policy)
			f.Cause = "the rules of the port group were deleted"
			f.Also = append(f.Also, doctor.Object{Kind: "port group", Name: g.Name})
			f.Evidence = append(f.Evidence, doctor.NBRow("Port_Group", g.UUID, "%s: %d ports, 0 rules", g.Name, len(g.Ports)))
		}
		a.Report(f)
	}
}

// denied reports pods under their namespace's default deny but under no policy: OVN-Kubernetes writes both together.
func (a *policies) denied() {
	byNamespace := map[string]map[ovsdb.UUID]bool{}
	groupsOf := map[string][]*nb.PortGroup{}
	for g := range doctor.Each(a.lists.PortGroups) {
		if g.ExternalIDs["k8s.ovn.org/owner-type"] != "NetworkPolicy" {
			continue
		}
		namespace, _, _ := strings.Cut(g.ExternalIDs["k8s.ovn.org/name"], ":")
		in := byNamespace[namespace]
		if in == nil {
			in = map[ovsdb.UUID]bool{}
			byNamespace[namespace] = in
		}
		groupsOf[namespace] = append(groupsOf[namespace], g)
		for _, id := range g.Ports {
			in[id] = true
		}
	}
	names := map[ovsdb.UUID]string{}
	for i := range a.l.SwitchPorts {
		names[a.l.SwitchPorts[i].UUID] = a.l.SwitchPorts[i].Name
	}
	for g := range doctor.Each(a.lists.PortGroups) {
		namespace := g.ExternalIDs["k8s.ovn.org/name"]
		in := byNamespace[namespace]
		if g.ExternalIDs["k8s.ovn.org/owner-type"] != "NetpolNamespace" || in == nil {
			continue
		}
		direction := strings.ToLower(g.ExternalIDs["direction"])
		f := doctor.Finding{
			Object: doctor.Object{Kind: "port group", Name: g.Name},
			Reason: "denied-only",
			Cause:  "the port group of a policy lost its members: a pod under the default deny is always in the group of a policy, too",
			Effect: fmt.Sprintf("all %s traffic of these pods is dropped; no policy allows any", direction),
			Next:   fmt.Sprintf("have OVN-Kubernetes rewrite the groups: touch the policies of namespace %s (kubectl -n %s annotate networkpolicy --all resync=1), or restart ovnkube on the control plane or the node", namespace, fixes.Word(namespace)),
		}
		var pods []string
		for _, id := range g.Ports {
			if !in[id] {
				pods = append(pods, names[id])
				f.Also = append(f.Also, doctor.PortObject(names[id]))
			}
		}
		if len(pods) == 0 {
			continue
		}
		f.Title = fmt.Sprintf("%s: under the default deny (%s) of the NetworkPolicies in namespace %s, but under no policy", doctor.AtMost(pods, 5), direction, namespace)
		f.Evidence = []doctor.Evidence{doctor.NBRow("Port_Group", g.UUID, "%s: default deny %s of namespace %s, %d ports", g.Name, direction, namespace, len(g.Ports))}
		for _, policy := range groupsOf[namespace] {
			if len(policy.Ports) == 0 && len(f.Evidence) < 5 {
				f.Evidence = append(f.Evidence, doctor.NBRow("Port_Group", policy.UUID, "%s: policy %s, ports=[], %d rules", policy.Name, policy.ExternalIDs["k8s.ovn.org/name"], len(policy.ACLs)))
			}
		}
		a.Report(f)
	}
}
