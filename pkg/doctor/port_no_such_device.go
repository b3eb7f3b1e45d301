package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var portNoSuchDevice = &Check{
	Name:     "port-no-such-device",
	Category: "ovs",
	Doc: `A port of the switch has no device

A bridge has a port for a network device that does not exist. The switch tries
to open it at every change, and its list of errors grows.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *Pass) {
		for _, h := range p.Hosts {
			sw, err := h.Switch()
			if err != nil {
				continue // said by others of this node; without the database there are no ports
			}
			var lost []snapshot.Plug
			for _, plug := range sw.Plugs() {
				if kernelDevice(plug) && strings.Contains(plug.Error.Get(), "No such device") {
					lost = append(lost, plug)
				}
			}
			if len(lost) == 0 || !p.switchLives(h) {
				continue
			}
			network, err := h.Network()
			if err != nil {
				p.Unknown(nodeObject(h.Name), err)
				continue
			}
			for _, plug := range lost {
				if network.Link(plug.Name) != nil {
					continue // it has come meanwhile
				}
				since, err := deviceLostFor(p, h, plug)
				if err != nil {
					p.Unknown(interfaceObject(h, plug), err)
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
func deviceLostFor(p *Pass, h *snapshot.Host, plug snapshot.Plug) (string, error) {
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

func noSuchDevice(p *Pass, h *snapshot.Host, plug snapshot.Plug, since string) Finding {
	f := Finding{
		Object: interfaceObject(h, plug),
		Also:   append(portObjects(plug), Object{Kind: "bridge", Name: plug.Bridge.Name, Node: h.Name}),
		Title:  fmt.Sprintf("port %s of bridge %s has no device", plug.Port.Name, plug.Bridge.Name),
		Evidence: []Evidence{
			{Source: fmt.Sprintf("Interface %s of %s", plug.Name, h.Name), Says: "error=" + plug.Error.Get()},
			{Source: "links of " + h.Name, Says: "there is no link " + plug.Name},
			{Source: "log ovs-vswitchd of " + h.Name, Says: since},
		},
		Cause:  "the device was removed and its port left behind, as happens when a pod or virtual machine ends while its network plugin does not run",
		Effect: "the switch tries to open it at every change of its configuration, which slows all of them down",
	}
	owner := catalog.PortTenant(p.Deployment, h, plug)
	switch {
	case owner.Gone:
		f.Evidence = append(f.Evidence, Evidence{Source: "its owner", Says: owner.Why})
		f.Fix = catalog.RemovePort.With(plug.Name)
	default:
		f.Next = owner.Why + fixes.Command("; if it is not to come back: ovs-vsctl --if-exists --with-iface del-port %s %s", plug.Bridge.Name, plug.Name)
	}
	return f
}

// kernelDevice says that an interface stands for a device that the kernel should have.
func kernelDevice(p snapshot.Plug) bool { return p.Type == "" || p.Type == "system" }

func interfaceObject(h *snapshot.Host, p snapshot.Plug) Object {
	return Object{Kind: "interface", Name: p.Name, Node: h.Name}
}

// portObjects is the logical port of an interface, if it names one.
func portObjects(p snapshot.Plug) []Object {
	if id := p.ExternalIDs["iface-id"]; id != "" {
		return []Object{{Kind: "port", Name: id}}
	}
	return nil
}
