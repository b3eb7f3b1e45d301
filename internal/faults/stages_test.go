//go:build lab

package faults

import (
	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

// buildFlags are for the program under test.
var buildFlags []string

// stages are all faults, by the lab that they are made on.
func stages() []stage {
	return []stage{
		{name: "northbound", topology: lab.OVNKubernetes(), faults: northboundFaults},
		{name: "openstack", topology: lab.OpenStack(), faults: openStackFaults},
		{name: "chassis", topology: lab.OVNKubernetes(), faults: chassisFaults},
		{name: "stale", topology: lab.MixedEncapsulation(), faults: staleFaults},
		{name: "drift", topology: lab.OVNKubernetes(), faults: driftFaults},
		{name: "kube-ovn", topology: lab.KubeOVN(), faults: kubeOVNFaults},
		{name: "counters", topology: lab.OVNKubernetes(), faults: countersFaults},
		{name: "databases", topology: lab.OVNKubernetes(), faults: databasesFaults},
		{name: "cluster", topology: lab.OVNKubernetes(), options: lab.Options{Cluster: 3, TLS: true}, faults: clusterFaults},
		{name: "interconnect", topology: lab.OVNKubernetes(), prepare: joinZones, faults: interconnectFaults},
		{name: "daemons", topology: lab.OVNKubernetes(), faults: daemonsFaults},
		{name: "gateways", topology: lab.OVNKubernetes(), faults: gatewaysFaults},
		{name: "egress", topology: lab.OVNKubernetes(), faults: ovnKubernetesFaults},
		{name: "neutron", topology: lab.OpenStack(), faults: neutronFaults},
		{name: "vxlan", topology: lab.MixedEncapsulation(), faults: vxlanFaults},
		{name: "hostnet", topology: lab.OVNKubernetes(), faults: hostnetFaults},
		{name: "beneath", topology: lab.OVNKubernetes(), faults: beneathFaults},
		{name: "hostnet-kube-ovn", topology: lab.KubeOVN(), faults: kubeOVNHostFaults},
	}
}

func repairNamed(name string) *fixes.Repair { return catalog.Find(name) }
