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
	Doc: `A node's ovn0 differs from its logical port

A Kube-OVN node reaches pods, and pods leave, through ovn0. The link must exist and be up, with
the MAC and the addresses of the logical port node-NODE.`,
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
			p.Skip("no host here is a node of Kube-OVN")
		}
	},
}

func ovn0(p *doctor.Pass, host string, o *catalog.OVN0) {
	port := "node-" + o.Node.Name
	f := doctor.Finding{
		Object: doctor.Object{Kind: "link", Name: o.Name, Node: host},
		Also:   []doctor.Object{doctor.NodeObject(host), doctor.PortObject(port)},
		Effect: "the node and the pods do not reach each other, and packets of pods to the outside through it are lost",
	}
	expected := doctor.NB("Logical_Switch_Port", port).Says("addresses=" + strings.Join(o.Node.Port.Addresses, " "))
	switch {
	case o.Link == nil:
		f.Reason = "missing"
		f.Title = fmt.Sprintf("%s has no link %s", host, o.Name)
		f.Evidence = []doctor.Evidence{doctor.Links().On(host).Says("no " + o.Name), expected}
		if o.Interface == nil {
			f.Evidence = append(f.Evidence, doctor.OVS("Interface", "").Says("none with iface-id="+port))
		}
		f.Cause = "kube-ovn-cni has not created it since the node started, or it was removed"
		f.Next = catalog.RestartKubeOVNCNI(o.Node.Name)
	case o.WrongMAC:
		f.Reason = "mac"
		f.Title = fmt.Sprintf("%s on %s has MAC %s, its logical port has %s", o.Name, host, o.Link.MAC, o.Node.MAC)
		f.Cause = "Open vSwitch recreated the link with a random MAC, or the port was recreated"
	case o.Down:
		f.Reason = "down"
		f.Title = fmt.Sprintf("%s on %s is down", o.Name, host)
		f.Cause = "an operator or the host's network configuration set it down"
	case len(o.Missing) > 0:
		f.Reason = "address"
		f.Title = fmt.Sprintf("%s on %s lacks %s", o.Name, host, o.Missing[0].Addr())
		f.Cause = "the address was removed, or kube-ovn-cni has not set it yet"
	default:
		return
	}
	if o.Link != nil {
		state := "up"
		if o.Down {
			state = "down"
		}
		f.Evidence = []doctor.Evidence{doctor.Link(o.Name).On(host).Says(o.Link.MAC + " " + state), expected}
		for _, a := range o.Missing {
			f.Evidence = append(f.Evidence, doctor.Addresses(o.Name).On(host).Says("no "+a.String()))
		}
		f.Fix = catalog.KubeOVNOVN0.With(o.Node.Name)
	}
	p.Report(f)
}
