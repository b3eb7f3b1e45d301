package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A CMS is the cluster's management system: who writes the Northbound, and will
// write it again.
type CMS string

// The management systems that are known by what they write.
const (
	OVNKubernetes CMS = "OVN-Kubernetes"
	KubeOVN       CMS = "Kube-OVN"
	OpenStack     CMS = "OpenStack"
	OpenShiftSDN  CMS = "OpenShift SDN" // without OVN
	PlainOVN      CMS = "plain OVN"
	PlainOVS      CMS = "plain Open vSwitch"
)

// A Platform is what a deployment is, and what tells so.
type Platform struct {
	CMS
	Interconnect bool     // its zones are joined by OVN interconnect
	Why          []string // "Northbound Logical_Router ovn-cluster: external_ids:vendor=kube-ovn"
}

// PlatformOf derives from rows what the deployment is. The error is for when no
// database says.
func PlatformOf(d *snapshot.Deployment) (Platform, error) {
	return snapshot.Derive(d, "", func() (Platform, error) {
		var p Platform
		var errs []error
		found := func(cms CMS, format string, args ...any) {
			if p.CMS == "" {
				p.CMS = cms
			}
			p.Why = append(p.Why, fmt.Sprintf(format, args...))
		}
		ovn := false
		for _, z := range d.Zones {
			north, err := z.Northbound()
			if err != nil {
				errs = append(errs, err)
			} else {
				ovn = true
				p.northbound(north, found)
			}
			south, err := z.Southbound()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			ovn = true
			for _, c := range south.Chassis {
				if c.OtherConfig["is-remote"] == "true" && !p.Interconnect {
					p.Interconnect = true
					p.Why = append(p.Why, "Southbound Chassis "+c.Name+": other_config:is-remote=true")
				}
			}
		}
		for _, h := range d.Hosts {
			if p.CMS != "" {
				break
			}
			s, err := h.Switch()
			if err != nil {
				if !errors.Is(err, snapshot.ErrNoSwitch) {
					errs = append(errs, err)
				}
				continue
			}
			hostPlatform(h, s, &ovn, found)
		}
		switch {
		case p.CMS != "":
		case ovn:
			p.CMS = PlainOVN
		case slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, snapshot.ErrNoOVN) }):
			return p, errors.Join(errs...)
		default:
			p.CMS = PlainOVS
		}
		return p, nil
	})
}

// northbound looks for what management systems write there, one row of each.
func (p *Platform) northbound(north *snapshot.Northbound, found func(CMS, string, ...any)) {
	known := map[CMS]bool{}
	look := func(table, name string, ids map[string]string) {
		cms, says := Owner(ids)
		if cms != "" && !known[cms] {
			known[cms] = true
			found(cms, "Northbound %s %s: external_ids:%s", table, name, says)
		}
	}
	for _, r := range north.Routers {
		look("Logical_Router", r.Name, r.ExternalIDs)
	}
	for _, s := range north.Switches {
		look("Logical_Switch", s.Name, s.ExternalIDs)
		if ts := s.OtherConfig["interconn-ts"]; ts != "" && !p.Interconnect {
			p.Interconnect = true
			p.Why = append(p.Why, "Northbound Logical_Switch "+s.Name+": other_config:interconn-ts="+ts)
		}
	}
	for _, s := range north.SwitchPorts {
		if len(known) > 0 {
			return
		}
		look("Logical_Switch_Port", s.Name, s.ExternalIDs)
	}
}

// Owner is who writes rows of the Northbound with such external_ids, and by which
// of them that is known; empty: no management system that is known.
func Owner(ids map[string]string) (CMS, string) {
	if ids["vendor"] == "kube-ovn" {
		return KubeOVN, "vendor=kube-ovn"
	}
	var cms CMS
	var by string
	for k := range ids {
		is := ownerKey(k)
		if is != "" && (by == "" || k < by) {
			cms, by = is, k
		}
	}
	switch cms {
	case OpenStack:
		return cms, by
	case OVNKubernetes:
		return cms, by + "=" + ids[by]
	}
	if ids["pod"] == "true" && ids["namespace"] != "" {
		return OVNKubernetes, "pod=true"
	}
	return "", ""
}

// ownerKey is the management system that alone writes such a key of external_ids; empty: there is none.
func ownerKey(k string) CMS {
	switch {
	case strings.HasPrefix(k, "neutron:"):
		return OpenStack
	case strings.HasPrefix(k, "k8s.ovn.org/"), k == "k8s-cluster-router", k == "k8s-ovn-topo-version":
		return OVNKubernetes
	}
	return ""
}

// hostPlatform looks for what is known by the local switch alone.
func hostPlatform(h *snapshot.Host, s *snapshot.Switch, ovn *bool, found func(CMS, string, ...any)) {
	for _, o := range s.OpenvSwitch {
		*ovn = *ovn || o.ExternalIDs["ovn-remote"] != ""
	}
	names := map[string]string{}
	for _, i := range s.Interfaces {
		names[i.Name] = i.Type
		switch {
		case i.ExternalIDs["vendor"] == "kube-ovn":
			found(KubeOVN, "Open_vSwitch of %s Interface %s: external_ids:vendor=kube-ovn", h.Name, i.Name)
			return
		case i.ExternalIDs["vm-uuid"] != "":
			found(OpenStack, "Open_vSwitch of %s Interface %s: external_ids:vm-uuid", h.Name, i.Name)
			return
		}
	}
	if slices.ContainsFunc(s.OpenvSwitch, func(o vswitch.OpenvSwitch) bool { return o.ExternalIDs["ovn-remote"] != "" }) {
		return
	}
	bridge := slices.ContainsFunc(s.Bridges, func(b vswitch.BridgeBrief) bool { return b.Name == "br0" })
	if bridge && names["tun0"] == "internal" && names["vxlan0"] == "vxlan" {
		found(OpenShiftSDN, "Open_vSwitch of %s: bridge br0 with tun0 and vxlan0", h.Name)
	}
}
