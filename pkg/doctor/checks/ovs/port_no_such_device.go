package ovs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// PortNoSuchDevice looks for ports whose device does not exist.
var PortNoSuchDevice = &doctor.Check{
	Name:     "port-no-such-device",
	Category: "ovs",
	Doc: `A port has no device

A bridge has a port for a network device that does not exist. ovs-vswitchd tries to open
it at every change, and its list of errors grows.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			if sw, err := h.Switch(); err == nil { // other checks report a database that is not read
				withoutDevice(p, h, sw)
			}
		}
	},
}

func noSuchDevice(i *vswitch.InterfaceBrief) bool {
	return strings.Contains(i.Error.Get(), "No such device")
}

func withoutDevice(p *doctor.Pass, h *snapshot.Host, sw *snapshot.Switch) {
	lost := slices.DeleteFunc(slices.Clone(sw.BridgeInterfaces()), func(i snapshot.BridgeInterface) bool {
		return !doctor.KernelDevice(i) || !noSuchDevice(i.InterfaceBrief)
	})
	if len(lost) == 0 || !p.InterfacesCurrent(h) {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	for _, i := range lost {
		if network.Link(i.Name) != nil {
			continue // it has come meanwhile
		}
		if since, ok := doctor.Need(p, doctor.InterfaceObject(h, i), func() (string, error) { return missingSince(p, h, i) }); ok {
			p.Report(deviceMissing(h, i, since))
		}
	}
}

// deviceGrace is how long a device may be missing: it may be created just after its port.
const deviceGrace = 30 * time.Second

// missingSince says for how long the device of an interface has been missing. The error says that this is not known yet.
func missingSince(p *doctor.Pass, h *snapshot.Host, i snapshot.BridgeInterface) (string, error) {
	first := firstLogged(h, "ovs-vswitchd", "could not open network device "+i.Name+" (No such device)")
	if since := p.Time().Sub(first); !first.IsZero() && since >= deviceGrace {
		return fmt.Sprintf("first logged at %s", first.UTC().Format(time.RFC3339)), nil
	}
	later, err := p.Later()
	switch {
	case errors.Is(err, snapshot.ErrNoSample):
		return "", fmt.Errorf("interface %s has no device, which may be created in a moment; use --sample 30s", i.Name)
	case err != nil:
		return "", err
	case p.Sample() < deviceGrace:
		return "", fmt.Errorf("interface %s has no device, and %s is too short to judge; use --sample 30s", i.Name, p.Sample())
	}
	then := later.Host(h.Name)
	if then == nil {
		return "", fmt.Errorf("node %s was not found for the second sample", h.Name)
	}
	sw, err := then.Switch()
	if err != nil {
		return "", err
	}
	for k := range sw.Interfaces {
		if sw.Interfaces[k].UUID == i.InterfaceBrief.UUID && noSuchDevice(&sw.Interfaces[k]) {
			return fmt.Sprintf("the same %s later", p.Sample()), nil
		}
	}
	return "", fmt.Errorf("interface %s had no device in the first sample and works in the second", i.Name)
}

func deviceMissing(h *snapshot.Host, i snapshot.BridgeInterface, since string) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.InterfaceObject(h, i),
		Also:   append(doctor.PortOfInterface(i), doctor.BridgeObject(h, i.Bridge.Name)),
		Title:  fmt.Sprintf("port %s of bridge %s has no device", i.Port.Name, i.Bridge.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", i.Name).On(h.Name), Says: "error=" + i.Error.Get()},
			{Source: doctor.Links().On(h.Name), Says: "no link " + i.Name},
			{Source: doctor.Log("ovs-vswitchd").On(h.Name), Says: since},
		},
		Cause:  "the device was removed and its port left behind, for instance when a pod or VM ended while its CNI plugin did not run",
		Effect: "ovs-vswitchd tries to open it at every change of its configuration, which slows all of them down",
	}
	if use := facts.PortUseOf(h, i); use.Unused {
		f.Evidence = append(f.Evidence, useEvidence(use))
		f.Fix = catalog.RemovePort.With(i.Name)
	} else {
		f.Next = use.Why + fixes.Command("; if it will not come back: ovs-vsctl --if-exists --with-iface del-port %s %s", i.Bridge.Name, i.Name)
	}
	return f
}

// firstLogged is when a daemon's log first has a line with a text; zero: never.
func firstLogged(h *snapshot.Host, daemon, text string) time.Time {
	log, err := h.Log(daemon)
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(log) {
		stamp, _, _ := strings.Cut(line, "|")
		if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil && strings.Contains(line, text) {
			return t
		}
	}
	return time.Time{}
}
