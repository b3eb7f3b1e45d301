package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// next is the command to run next; none when the packet is delivered.
func (t *tracer) next(ask *question, v journey.Verdict, found []journey.Disagreement) []string {
	if v.Outcome == journey.Delivered {
		return []string{}
	}
	if len(found) > 0 && v.Outcome != journey.Unknown {
		return []string{found[0].Repair}
	}
	return []string{t.nextCommand(ask, v)}
}

func (t *tracer) nextCommand(ask *question, v journey.Verdict) string {
	if len(v.WhyNot) > 0 && v.WhyNot[0].Command != "" {
		return v.WhyNot[0].Command
	}
	if v.Object != nil {
		if command := showOwner(v.Object.Owner); command != "" {
			return command
		}
	}
	port := t.graph.PortByName(v.Port)
	switch {
	case v.Outcome == journey.Unknown && strings.Contains(v.Cause, "--node-exec"):
		return "ovnctl " + repeat(ask.request) + " --node-exec 'ssh {hostname}'"
	case v.Outcome == journey.Unknown && strings.Contains(v.Cause, "--record"):
		return "ovnctl " + repeat(ask.request) + " --node-exec 'ssh {hostname}' --record DIR"
	case v.Outcome == journey.Unknown && strings.Contains(v.Cause, "Southbound"):
		return "ovs-vsctl get Open_vSwitch . external_ids:ovn-remote"
	case v.Outcome == journey.Unknown && strings.Contains(v.Cause, "ovs-vswitchd"):
		return "ovs-appctl -T 5 -t ovs-vswitchd version  # on " + v.Node
	case v.Stage == "outside" && strings.Contains(v.Cause, "virtual address"):
		return "ovnctl topology show svc:" + ask.request.To.Address
	case v.Stage == "outside" && v.Datapath != "":
		return "ovn-nbctl lr-nat-list " + shell([]string{v.Datapath})
	case v.Stage == "outside" && v.Node == "":
		return "ovnctl topology show" // who has which address
	case v.Stage == "outside":
		return "nft list ruleset  # on " + v.Node
	case v.Outcome == journey.Consumed:
		return "ovn-sbctl list MAC_Binding"
	case v.Stage == "pod" && port != nil && port.Pod != "":
		namespace, pod, _ := strings.Cut(port.Pod, "/")
		return "kubectl -n " + shell([]string{namespace, "exec", pod, "--", "ip", "addr", "show"})
	case strings.Contains(v.Cause, "uplink"):
		return "ovnctl topology show --physical node:" + v.Node
	case strings.HasSuffix(v.Stage, "l2_unknown") && v.Node != "": // somebody believes in a MAC address that is gone
		return "ovnctl doctor node:" + v.Node
	case v.Object != nil && v.Object.Kind == "ACL":
		return "ovn-nbctl list ACL " + v.Object.UUID
	case strings.Contains(v.Stage, "ip_routing"):
		return "ovn-nbctl lr-route-list " + shell([]string{v.Datapath})
	case port != nil:
		return "ovnctl topology show " + shell([]string{portQuestion(port)})
	case v.Object != nil && len(v.Object.UUID) >= 8:
		return "ovnctl topology show " + v.Object.UUID[:8]
	case v.Node != "":
		return "ovnctl topology show node:" + v.Node
	}
	return "ovnctl topology show"
}

func portQuestion(p *topology.Port) string {
	if p.Kind == topology.RouterPort {
		return "lrp:" + p.Name
	}
	return "lsp:" + p.Name
}

// repeat is the command that asks the same again.
func repeat(r journey.Request) string {
	words := []string{"trace", r.From.Text, r.To.Text}
	if r.Port != 0 {
		words = append(words, fmt.Sprintf("--%s=%d", r.Protocol, r.Port))
	}
	if r.Family == 6 {
		words = append(words, "-6")
	}
	if r.Length != 0 {
		words = append(words, fmt.Sprintf("--length=%d", r.Length))
	}
	if r.Backend != "" {
		words = append(words, "--backend="+r.Backend)
	}
	return shell(words)
}

// showOwner is the command that shows what a row was made for; empty if the row does not say.
func showOwner(owner string) string {
	namespace, defaultDeny := strings.CutPrefix(owner, "NetworkPolicy default deny of namespace ")
	if defaultDeny && kubernetesName(namespace) {
		return "kubectl -n " + namespace + " get networkpolicy"
	}
	name, ok := strings.CutPrefix(owner, "NetworkPolicy ")
	namespace, policy, both := strings.Cut(name, "/")
	if ok && both && kubernetesName(namespace) && kubernetesName(policy) {
		return fmt.Sprintf("kubectl -n %s describe networkpolicy %s", namespace, policy)
	}
	return ""
}

// kubernetesName says whether a word is written as Kubernetes writes names, so that a shell takes it as it is.
func kubernetesName(word string) bool {
	return word != "" && word[0] != '-' && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// command notes a classic command that shows the same, as typed on the node.
func (t *tracer) command(n *nodeView, text string) {
	if line := n.Name + ": " + text; !slices.Contains(t.commands, line) {
		t.commands = append(t.commands, line)
	}
}

// plainInShell are the characters that mean nothing to a shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

// shell writes a command as a shell takes it.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, plainInShell) != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
