package ovs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PortNoSuchDevice = &doctor.Check{
	Name:     "port-no-such-device",
	Category: "ovs",
	Doc: `A port of the switch has no device

A bridge has a port for a network device that does not exist. The switch tries
to open it at every change, and its list of errors grows.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			sw, err := h.Switch()
			if err != nil {
				continue // said by others of this node; without the database there are no ports
			}
			var lost []snapshot.Plug
			for _, plug := range sw.Plugs() {
				if doctor.KernelDevice(plug) && strings.Contains(plug.Error.Get(), "No such device") {
					lost = append(lost, plug)
				}
			}
			if len(lost) == 0 || !p.InterfacesCurrent(h) {
				continue
			}
			network, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
			if !ok {
				continue
			}
			for _, plug := range lost {
				if network.Link(plug.Name) != nil {
					continue // it has come meanwhile
				}
				since, err := deviceLostFor(p, h, plug)
				if err != nil {
					p.Unknown(doctor.InterfaceObject(h, plug), err)
					continue
				}
				p.Report(noSuchDevice(p, h, plug, since))
			}
		}
	},
}

// A device may be about to be made when its port is added: only one that is missed for so long is missing.
const deviceGrace = 30 * time.Second

// deviceLostFor says in words for how long the device of a port has been missed. The
// error is that this cannot be told yet.
func deviceLostFor(p *doctor.Pass, h *snapshot.Host, plug snapshot.Plug) (string, error) {
	first := firstLogged(h, "ovs-vswitchd", "could not open network device "+plug.Name+" (No such device)")
	if since := p.Time().Sub(first); !first.IsZero() && since >= deviceGrace {
		return fmt.Sprintf("first logged at %s", first.UTC().Format(time.RFC3339)), nil
	}
	later, err := p.Later()
	switch {
	case errors.Is(err, snapshot.ErrNoSample):
		return "", fmt.Errorf("interface %s has no device, which may be about to be made; --sample 30s tells", plug.Name)
	case err != nil:
		return "", err
	case p.Sample() < deviceGrace:
		return "", fmt.Errorf("interface %s has no device, and %s are not enough to tell; --sample 30s does", plug.Name, p.Sample())
	}
	then := later.Host(h.Name)
	if then == nil {
		return "", fmt.Errorf("node %s did not answer a second time", h.Name)
	}
	sw, err := then.Switch()
	if err != nil {
		return "", err
	}
	for _, i := range sw.Interfaces {
		if i.UUID == plug.InterfaceBrief.UUID && strings.Contains(i.Error.Get(), "No such device") {
			return fmt.Sprintf("the same %s later", p.Sample()), nil
		}
	}
	return "", fmt.Errorf("interface %s had no device in the first look and is well in the second", plug.Name)
}

func noSuchDevice(p *doctor.Pass, h *snapshot.Host, plug snapshot.Plug, since string) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.InterfaceObject(h, plug),
		Also:   append(doctor.PortOfInterface(plug), doctor.Object{Kind: "bridge", Name: plug.Bridge.Name, Node: h.Name}),
		Title:  fmt.Sprintf("port %s of bridge %s has no device", plug.Port.Name, plug.Bridge.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", plug.Name).On(h.Name), Says: "error=" + plug.Error.Get()},
			{Source: doctor.Links().On(h.Name), Says: "there is no link " + plug.Name},
			{Source: doctor.Log("ovs-vswitchd").On(h.Name), Says: since},
		},
		Cause:  "the device was removed and its port left behind, as happens when a pod or virtual machine ends while its network plugin does not run",
		Effect: "the switch tries to open it at every change of its configuration, which slows all of them down",
	}
	owner := catalog.PortUseOf(h, plug)
	switch {
	case owner.Unused:
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("its owner"), Says: owner.Why})
		f.Fix = catalog.RemovePort.With(plug.Name)
	default:
		f.Next = owner.Why + fixes.Command("; if it is not to come back: ovs-vsctl --if-exists --with-iface del-port %s %s", plug.Bridge.Name, plug.Name)
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
