package tunnel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var IPsecDown = &doctor.Check{
	Name:     "ipsec-down",
	Category: "tunnel",
	Doc: `Tunnels that should be encrypted are not

With NB_Global.ipsec every tunnel between nodes is to be encrypted. Where the key
exchange fails, packets are dropped; where the tunnel was never configured for it,
they travel in clear.`,
	Causes: []string{"tunnel-missing-to-chassis", "controller-not-running", "vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		wanted := false
		for _, z := range p.Zones {
			north, err := z.Northbound()
			if err == nil && len(north.Globals) == 1 {
				wanted = wanted || north.Globals[0].IPsec
				continue
			}
			if south, err := z.Southbound(); err == nil && len(south.Globals) == 1 {
				wanted = wanted || south.Globals[0].IPsec
			}
		}
		if !wanted {
			p.Skip("NB_Global.ipsec is false: tunnels are not to be encrypted")
			return
		}
		for _, h := range p.Hosts {
			ipsecOf(p, h)
		}
	},
}

// ipsecOf looks at the tunnels of one host.
func ipsecOf(p *doctor.Pass, h *snapshot.Host) {
	sw, err := h.Switch()
	if errors.Is(err, snapshot.ErrNoSwitch) {
		return
	}
	object := doctor.NodeObject(h.Name)
	if err != nil {
		p.Unknown(object, err)
		return
	}
	var tunnels []vswitch.InterfaceBrief
	for _, i := range sw.Interfaces {
		if i.Options["remote_ip"] != "" && i.Options["remote_ip"] != "flow" && (i.Type == "geneve" || i.Type == "vxlan" || i.Type == "gre" || i.Type == "stt") {
			tunnels = append(tunnels, i)
		}
	}
	if len(tunnels) == 0 {
		return
	}
	for _, i := range tunnels {
		if !asksForIPsec(i) {
			p.Report(doctor.Finding{
				Object:   doctor.Object{Kind: "tunnel", Name: i.Name, Node: h.Name},
				Also:     []doctor.Object{object},
				Title:    fmt.Sprintf("tunnel %s of %s to %s is not encrypted, though NB_Global.ipsec asks for it", i.Name, h.Name, i.Options["remote_ip"]),
				Evidence: []doctor.Evidence{doctor.OVS("Interface", i.Name+" on "+h.Name).Says("options without remote_name, remote_cert and psk"), doctor.NB("NB_Global", "").Says("ipsec=true")},
				Cause:    "ovn-controller has not configured it: the node lacks a certificate (Open_vSwitch other_config:certificate, private_key, ca_cert), or ovn-controller is behind",
				Effect:   "packets between the nodes travel in clear, or the other end drops them",
				Next:     fmt.Sprintf("ovs-vsctl get Open_vSwitch . other_config on %s", h.Name),
			})
		}
	}
	monitor, err := h.Daemon("ovs-monitor-ipsec")
	switch {
	case errors.Is(err, node.ErrUnavailable):
		p.Unknown(object, fmt.Errorf("whether the tunnels of %s are encrypted: %w", h.Name, err))
		return
	case err != nil:
		p.Unknown(object, err)
		return
	case monitor.Liveness != snapshot.Answers:
		p.Report(doctor.Finding{
			Object:   doctor.DaemonObject(h, "ovs-monitor-ipsec"),
			Also:     []doctor.Object{object},
			Title:    fmt.Sprintf("ovs-monitor-ipsec on %s %s: no key is exchanged for its tunnels", h.Name, monitor.Liveness),
			Evidence: []doctor.Evidence{doctor.Other("control socket of ovs-monitor-ipsec").Says(string(monitor.Liveness)), doctor.NB("NB_Global", "").Says("ipsec=true")},
			Cause:    "the package openvswitch-ipsec is not installed, or its service does not run",
			Effect:   "the tunnels of the node are dead or in clear",
			Next:     "systemctl start openvswitch-ipsec",
		})
		return
	}
	shown, err := h.Control("ovs-monitor-ipsec", "tunnels/show")
	if err != nil {
		p.Unknown(object, fmt.Errorf("whether the tunnels of %s are encrypted: %w", h.Name, err))
		return
	}
	states := ipsecStates(shown)
	for _, i := range tunnels {
		state, known := states[i.Name]
		if !asksForIPsec(i) || known && state.associated {
			continue
		}
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "tunnel", Name: i.Name, Node: h.Name},
			Also:     []doctor.Object{object},
			Title:    fmt.Sprintf("tunnel %s of %s to %s has no security association", i.Name, h.Name, i.Options["remote_ip"]),
			Evidence: []doctor.Evidence{doctor.Other("tunnels/show of ovs-monitor-ipsec on " + h.Name).Says(state.says())},
			Cause:    "the key exchange with the other end fails: another key or CA there, UDP 500 and 4500 or ESP blocked, or its daemon does not run",
			Effect:   "all packets of the tunnel are dropped",
			Next:     fmt.Sprintf("ovs-appctl -t ovs-monitor-ipsec tunnels/show on both ends; the log of the IKE daemon (journalctl -u strongswan-starter -u ipsec) on %s", h.Name),
		}
		p.Report(f)
	}
}

// asksForIPsec says that a tunnel's interface carries what the key exchange needs.
func asksForIPsec(i vswitch.InterfaceBrief) bool {
	return i.Options["remote_name"] != "" || i.Options["remote_cert"] != "" || i.Options["psk"] != ""
}

// An ipsecState is what ovs-monitor-ipsec shows of a tunnel.
type ipsecState struct {
	fault      string // its own word on the configuration
	associated bool
	shown      bool
}

func (s ipsecState) says() string {
	switch {
	case !s.shown:
		return "does not show the tunnel"
	case s.fault != "":
		return s.fault
	}
	return "Kernel security associations installed: none"
}

// ipsecStates reads `tunnels/show`: a tunnel's name begins a part, in which the
// associations of the kernel follow their heading.
func ipsecStates(text string) map[string]ipsecState {
	states := map[string]ipsecState{}
	name, inAssociations := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if head, ok := strings.CutPrefix(line, "Interface name: "); ok {
			name, inAssociations = head, false
			if i := strings.Index(head, " v"); i >= 0 { // "ovn-node2-0 v1 (CONFIGURED)"
				name = head[:i]
			}
			s := ipsecState{shown: true}
			if !strings.Contains(head, "(CONFIGURED)") && strings.Contains(head, "(") {
				s.fault = strings.TrimSpace(head[strings.LastIndexByte(head, '('):])
			}
			states[name] = s
			continue
		}
		switch text := strings.TrimSpace(line); {
		case text == "":
		case strings.HasPrefix(text, "Kernel security associations installed"):
			inAssociations = true
		case strings.HasSuffix(text, ":") || strings.HasPrefix(text, "Kernel policies"):
			inAssociations = false
		case inAssociations:
			s := states[name]
			s.associated = true
			states[name] = s
		}
	}
	return states
}
