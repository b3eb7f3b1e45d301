package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ordered are the repairs that do what they are told also where nothing is wrong, and why that harms nothing that is right.
// A finding never offers them on a healthy deployment: TestDeploymentDoctor.
var ordered = map[string]string{
	"attach-load-balancer":       "gives a switch or router another load balancer, and takes none away",
	"attach-load-balancer-group": "as attach-load-balancer",
	"enlarge-mac-table":          "a limit is raised",
	"raise-flow-limit":           "a limit is raised",
	"listen-database":            "adds a connection, and takes none away",
	"reinstall-mac-binding":      "the row is written again as it was",
}

// Who calls a repair by hand, with names that exist, changes nothing that is right: it is refused on each node of each healthy
// deployment, or there is nothing to do.
func TestDeploymentRepairs(t *testing.T) {
	planned := map[string]bool{}
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			for _, node := range d.nodes {
				c, err := cluster.Open(t.Context(), cluster.Config{Offline: "../../testdata/deployments/" + d.file + ".tar.zst"})
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range c.Hosts {
					h.Local = h.Name == node
				}
				look := snapshot.Look(t.Context(), c, snapshot.Options{})
				for _, r := range catalog.Repairs {
					for _, args := range calls(t, look, r) {
						a, err := r.Arguments(args)
						if err != nil {
							t.Fatal(err)
						}
						plan, err := r.Plan(look, a)
						var refusal *fixes.Refusal
						switch {
						case errors.As(err, &refusal), err == nil && len(plan.Steps) == 0:
							planned[r.Name] = true
						case err == nil && ordered[r.Name] == "":
							t.Errorf("on %s, fix %s %q: %s", node, r.Name, args, plan.Title)
						}
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Logf("%d of %d repairs are refused by plan: %s", len(planned), len(catalog.Repairs), slices.Sorted(maps.Keys(planned)))
}

// calls returns arguments for a repair that exist in a deployment: each value of the first parameter, with those of the
// others that belong to it.
func calls(t *testing.T, d *snapshot.Deployment, r *fixes.Repair) [][]string {
	t.Helper()
	out := [][]string{{}}
	for _, p := range r.Params {
		if p.Optional {
			break
		}
		var longer [][]string
		for _, args := range out {
			for _, value := range values(t, d, p.Name) {
				longer = append(longer, append(slices.Clone(args), value))
			}
		}
		out = longer
	}
	return out
}

// values returns what a parameter may be.
func values(t *testing.T, d *snapshot.Deployment, param string) []string {
	t.Helper()
	var out []string
	sw, err := d.Local().Switch()
	if err != nil {
		t.Fatal(err)
	}
	switch param {
	case "BRIDGE":
		for _, b := range sw.Bridges {
			out = append(out, b.Name)
		}
	case "INTERFACE", "LINK":
		for _, i := range sw.Interfaces {
			out = append(out, i.Name)
		}
	case "NODE":
		for _, h := range d.Hosts {
			out = append(out, h.Name)
		}
	case "SETTING":
		return []string{"net/ipv4/ip_forward", "net/ipv4/conf/br-ex/rp_filter"}
	case "TABLE":
		return []string{"kernel", "zone=1", "netdev@ovs-netdev"}
	case "KEY":
		return []string{"system-id", "ovn-remote", "ovn-encap-type", "ovn-encap-ip"}
	case "DATABASE":
		return []string{"nb", "sb"}
	case "DAEMON":
		return []string{"ovn-controller", "ovn-northd"}
	case "MILLISECONDS":
		return []string{"60000"}
	case "PROTOCOL":
		return []string{"tcp"}
	}
	for _, z := range d.Zones {
		l, err := facts.LogicalOf(z)
		if err != nil {
			t.Fatal(err)
		}
		south, err := z.Southbound()
		if err != nil {
			t.Fatal(err)
		}
		balancers, err := z.Balancers()
		if err != nil {
			t.Fatal(err)
		}
		switch param {
		case "PORT", "ROUTER-PORT":
			for _, p := range l.SwitchPorts {
				out = append(out, p.Name)
			}
			for _, p := range l.RouterPorts {
				out = append(out, p.Name)
			}
		case "NETWORK":
			for _, p := range l.SwitchPorts {
				out = append(out, p.Options["network_name"])
			}
			for _, p := range l.RouterPorts {
				out = append(out, p.Networks...)
			}
		case "NAME":
			for _, c := range south.Chassis {
				out = append(out, c.Hostname)
			}
		case "CHASSIS":
			for _, c := range south.Chassis {
				out = append(out, c.Name)
			}
		case "IP", "BACKEND", "ADDRESSES":
			for _, p := range l.SwitchPorts {
				for _, a := range facts.PortAddresses(&p) {
					for _, ip := range a.IPs {
						out = append(out, ip.Addr().String())
					}
				}
			}
		case "MAC":
			for _, p := range l.SwitchPorts {
				for _, a := range facts.PortAddresses(&p) {
					out = append(out, a.MAC)
				}
			}
		case "DATAPATH":
			for _, b := range south.Datapaths {
				out = append(out, string(b.UUID))
			}
		case "ROUTER":
			for _, r := range l.Routers {
				out = append(out, r.Name)
			}
		case "SUBNET":
			for _, s := range l.Switches {
				out = append(out, s.Name)
			}
		case "TO":
			for _, s := range l.Switches {
				out = append(out, "switch:"+s.Name)
			}
			for _, r := range l.Routers {
				out = append(out, "router:"+r.Name)
			}
		case "LOAD-BALANCER":
			for _, lb := range balancers.LoadBalancers {
				out = append(out, string(lb.UUID))
			}
		case "GROUP":
			for _, g := range balancers.Groups {
				out = append(out, g.Name)
			}
		case "OPTIONS":
			for _, o := range l.DHCPOptions {
				out = append(out, string(o.UUID))
			}
		case "UUID":
			for _, n := range l.NAT {
				out = append(out, string(n.UUID))
			}
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" })
	slices.Sort(out)
	return slices.Compact(out)
}
