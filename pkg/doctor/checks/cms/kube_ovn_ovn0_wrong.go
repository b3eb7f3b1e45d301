package cms

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var KubeOvnOvn0Wrong = &doctor.Check{
	Name:     "kube-ovn-ovn0-wrong",
	Category: "kube-ovn",
	Doc: `A node's ovn0 is not what Kube-OVN gave it

ovn0 is how a Kube-OVN node reaches pods and how pods leave through it. It must be
there, up, with the MAC and the addresses of the logical port node-NODE.`,
	Causes: []string{"vswitchd-not-running", "two-vswitchds", "conf-db-lost-or-corrupt"},
	Run: func(p *doctor.Pass) {
		found := false
		for _, h := range p.Hosts {
			o, err := catalog.ReadOVN0(p.Deployment, h)
			if err != nil {
				p.Unknown(doctor.NodeObject(h.Name), err)
				continue
			}
			if o == nil {
				continue
			}
			found = true
			ovn0(p, h.Name, o)
		}
		if !found {
			p.Skip("no host here is a node of kube-ovn")
		}
	},
}

func ovn0(p *doctor.Pass, host string, o *catalog.OVN0) {
	port := "node-" + o.Node.Name
	f := doctor.Finding{
		Object: doctor.Object{Kind: "link", Name: o.Name, Node: host},
		Also:   []doctor.Object{doctor.NodeObject(host), doctor.PortObject(port)},
		Effect: "the node and the pods do not reach each other, and what pods send out of the cluster through it is lost",
	}
	wants := doctor.NB("Logical_Switch_Port", doctor.Short(o.Node.Port.UUID)+" "+port).Says("addresses=" + strings.Join(o.Node.Port.Addresses, " "))
	switch {
	case o.Link == nil:
		f.Title = fmt.Sprintf("%s has no link %s", host, o.Name)
		f.Evidence = []doctor.Evidence{doctor.Links().On(host).Says("no " + o.Name), wants}
		if o.Interface == nil {
			f.Evidence = append(f.Evidence, doctor.OVS("Interface", "").Says("none with iface-id="+port))
		}
		f.Cause = "kube-ovn-cni has not set it up since the node started, or somebody has removed it"
		f.Next = catalog.RestartKubeOVNCNI(o.Node.Name)
	case o.WrongMAC:
		f.Title = fmt.Sprintf("%s on %s has the MAC %s, its logical port %s", o.Name, host, o.Link.MAC, o.Node.MAC)
		f.Cause = "Open vSwitch made the link anew with a MAC of its own, or the port was written anew"
	case o.Down:
		f.Title = fmt.Sprintf("%s on %s is down", o.Name, host)
		f.Cause = "somebody, or the host's network configuration, switched it off"
	case len(o.Missing) > 0:
		f.Title = fmt.Sprintf("%s on %s lacks %s", o.Name, host, o.Missing[0].Addr())
		f.Cause = "the address was taken away, or kube-ovn-cni has not set it yet"
	default:
		return
	}
	if o.Link != nil {
		state := "up"
		if o.Down {
			state = "down"
		}
		f.Evidence = []doctor.Evidence{doctor.Link(o.Name).On(host).Says(o.Link.MAC + " " + state), wants}
		for _, a := range o.Missing {
			f.Evidence = append(f.Evidence, doctor.Other("addresses of "+o.Name).Says("no "+a.String()))
		}
		f.Fix = catalog.KubeOVNOVN0.With(o.Node.Name)
	}
	p.Report(f)
}
