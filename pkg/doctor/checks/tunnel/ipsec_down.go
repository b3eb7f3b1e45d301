package tunnel

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var IPsecDown = &doctor.Check{
	Name:     "ipsec-down",
	Category: "tunnel",
	Doc: `Tunnels that should be encrypted are not

With NB_Global.ipsec every tunnel between nodes should be encrypted. If the key exchange fails,
packets are dropped; if the tunnel was never configured for it, they travel unencrypted.`,
	Causes: []string{"tunnel-missing-to-chassis", "controller-not-running", "vswitchd-not-running"},
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		if ipsecWanted(p) {
			ipsecOf(p, h)
		}
	},
	Run: func(p *doctor.Pass) {
		if !ipsecWanted(p) {
			p.Skip("NB_Global.ipsec is false: tunnels need not be encrypted")
		}
	},
}

// ipsecWanted reports whether the tunnels of a zone should be encrypted.
func ipsecWanted(p *doctor.Pass) bool {
	wanted := false
	for z := range p.EachZone() {
		north, err := z.Northbound()
		if err == nil && len(north.Globals) == 1 {
			wanted = wanted || north.Globals[0].IPsec
			continue
		}
		if south, err := z.Southbound(); err == nil && len(south.Globals) == 1 {
			wanted = wanted || south.Globals[0].IPsec
		}
	}
	return wanted
}

// ipsecOf reports a host's unencrypted tunnels.
func ipsecOf(p *doctor.Pass, h *snapshot.Host) {
	node := doctor.NodeObject(h.Name)
	sw, ok := doctor.Need(p, node, h.Switch)
	if !ok {
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
	ipsec := doctor.NB("NB_Global", "").Says("ipsec=true")
	var configured []vswitch.InterfaceBrief
	for _, i := range tunnels {
		if hasKey(i) {
			configured = append(configured, i)
			continue
		}
		p.Report(doctor.Finding{
			Object:   tunnelObject(h, i.Name),
			Also:     []doctor.Object{node},
			Reason:   "not-configured",
			Title:    fmt.Sprintf("tunnel %s of %s to %s is not encrypted, although NB_Global.ipsec requires it", i.Name, h.Name, i.Options["remote_ip"]),
			Evidence: []doctor.Evidence{doctor.OVS("Interface", i.Name).On(h.Name).Says("options without remote_name, remote_cert and psk"), ipsec},
			Cause:    "ovn-controller has not configured it: the node lacks a certificate (Open_vSwitch other_config:certificate, private_key, ca_cert), or ovn-controller is behind",
			Effect:   "packets between the nodes travel unencrypted, or the other end drops them",
			Next:     fmt.Sprintf("ovs-vsctl get Open_vSwitch . other_config on %s", h.Name),
		})
	}
	monitor, err := h.Daemon("ovs-monitor-ipsec")
	if err == nil && monitor.Liveness != snapshot.Answers {
		p.Report(doctor.Finding{
			Object:   doctor.DaemonObject(h, "ovs-monitor-ipsec"),
			Also:     []doctor.Object{node},
			Title:    fmt.Sprintf("ovs-monitor-ipsec on %s %s: its tunnels exchange no keys", h.Name, monitor.Liveness),
			Evidence: []doctor.Evidence{doctor.Socket("control socket of ovs-monitor-ipsec").On(h.Name).Says(string(monitor.Liveness)), ipsec},
			Cause:    "the package openvswitch-ipsec is not installed, or its service is down",
			Effect:   "the tunnels of the node carry nothing, or carry packets unencrypted",
			Next:     "systemctl start openvswitch-ipsec",
		})
		return
	}
	shown := ""
	if err == nil {
		shown, err = h.Control("ovs-monitor-ipsec", "tunnels/show")
	}
	if err != nil {
		p.Unknown(node, fmt.Errorf("it is unknown whether the tunnels of %s are encrypted: %w", h.Name, err))
		return
	}
	states := ipsecStates(shown)
	for _, i := range configured {
		state := states[i.Name]
		if state.associated {
			continue
		}
		p.Report(doctor.Finding{
			Object:   tunnelObject(h, i.Name),
			Also:     []doctor.Object{node},
			Reason:   "no-association",
			Title:    fmt.Sprintf("tunnel %s of %s to %s has no security association", i.Name, h.Name, i.Options["remote_ip"]),
			Evidence: []doctor.Evidence{doctor.Command("ovs-appctl -t ovs-monitor-ipsec tunnels/show").On(h.Name).Says(state.says())},
			Cause:    "the key exchange with the other end fails: another key or CA there, UDP 500 and 4500 or ESP blocked, or its daemon is down",
			Effect:   "all packets of the tunnel are dropped",
			Next:     fmt.Sprintf("ovs-appctl -t ovs-monitor-ipsec tunnels/show on both ends; the log of the IKE daemon (journalctl -u strongswan-starter -u ipsec) on %s", h.Name),
		})
	}
}

// hasKey reports whether a tunnel's interface has the options of a key exchange.
func hasKey(i vswitch.InterfaceBrief) bool {
	return i.Options["remote_name"] != "" || i.Options["remote_cert"] != "" || i.Options["psk"] != ""
}

// An ipsecState is a tunnel's state from ovs-monitor-ipsec.
type ipsecState struct {
	fault      string // in its configuration
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

// ipsecStates parses `tunnels/show`: each tunnel's part starts with its name, and the kernel's associations follow
// their heading.
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
