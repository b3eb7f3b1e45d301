package host

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NMOwnsOvsPort = &doctor.Check{
	Name:     "nm-owns-ovs-port",
	Category: "node-os",
	Doc: `A bridge's flows name a port number that the bridge no longer has

When NetworkManager starts again it takes the uplink out of the bridge and puts it back:
the port gets another OpenFlow number, and flows that name the old one lead nowhere.`,
	Causes: []string{"vswitchd-not-running", "uplink-not-in-bridge"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			for _, u := range e.Uplinks {
				if u.Port != nil && p.SwitchLives(e.Host) {
					renumbered(p, e, u)
				}
			}
		})
	},
}

// portNumbers are where a flow names ports by number.
var portNumbers = regexp.MustCompile(`\b(?:in_port=|output:|enqueue:)(\d+)\b`)

func renumbered(p *doctor.Pass, e *doctor.NetNode, u snapshot.Uplink) {
	bridge := u.Bridge.Name
	flows, err := e.PlainFlows(bridge)
	if err != nil {
		p.Unknown(e.BridgeObject(bridge), err)
		return
	}
	s, err := e.Switch()
	if err != nil {
		return
	}
	have, own := map[int]bool{}, map[int]bool{}
	for _, x := range s.Plugs() {
		if n := x.OFNumber(); n > 0 && x.Bridge.Name == bridge {
			have[n] = true
			if x.Port.Name == u.Port.Name {
				own[n] = true
			}
		}
	}
	named, example := map[int]bool{}, ""
	for _, f := range flows {
		f.Stats = nil // no evidence, and another at every look
		text := f.String()
		for _, m := range portNumbers.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil || n >= 0xff00 {
				continue
			}
			if !named[n] && !have[n] && example == "" {
				example = text
			}
			named[n] = true
		}
	}
	var lost []string
	for n := range named {
		if own[n] {
			return // flows know the uplink: what else they name is somebody else's matter
		}
		if !have[n] {
			lost = append(lost, strconv.Itoa(n))
		}
	}
	if len(lost) == 0 || len(own) == 0 {
		return
	}
	slices.Sort(lost)
	var now []string
	for n := range own {
		now = append(now, strconv.Itoa(n))
	}
	slices.Sort(now)
	proof := []doctor.Evidence{
		{Source: doctor.OVS("Interface", strings.Join(u.Links, ", ")), Says: "ofport=" + strings.Join(now, ", ")},
		{Source: doctor.Other("flows of bridge " + bridge), Says: example},
	}
	cause := "the uplink left the bridge and came back: the number it had was not kept"
	for _, profile := range ovsProfiles(e.Host, append(u.Links, bridge)) {
		proof = append(proof, profile)
		cause = "NetworkManager owns the port, and made it anew when it started again"
	}
	p.Report(doctor.Finding{
		Object:   e.BridgeObject(bridge),
		Also:     append([]doctor.Object{doctor.NodeObject(e.Name)}, e.LinkObject(u.Port.Name)),
		Title:    fmt.Sprintf("flows of bridge %s name port %s, which it does not have, and not its uplink %s", bridge, strings.Join(lost, ", "), u.Port.Name),
		Evidence: proof,
		Cause:    cause,
		Effect:   "what these flows should send out of the uplink, or take from it, goes nowhere",
		Next:     "restart what writes the flows of " + bridge + " (ovnkube-node on OVN-Kubernetes: delete its pod of this node)",
	})
}

// ovsProfiles are NetworkManager's profiles for OVS ports with one of these names.
func ovsProfiles(h *snapshot.Host, names []string) []doctor.Evidence {
	var list []doctor.Evidence
	for _, pattern := range []string{"/etc/NetworkManager/system-connections/*", "/run/NetworkManager/system-connections/*"} {
		paths, err := h.Glob(pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			b, err := h.File(path)
			if err != nil {
				continue
			}
			text := string(b)
			ovs := strings.Contains(text, "type=ovs-") || strings.Contains(text, "slave-type=ovs-port") || strings.Contains(text, "port-type=ovs-port")
			named := slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, "interface-name="+n+"\n") })
			if ovs && named {
				list = append(list, doctor.Evidence{Source: doctor.File(path, 0), Says: "a profile of NetworkManager for an OVS port"})
			}
		}
	}
	return list
}
