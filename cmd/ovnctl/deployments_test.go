package main

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/flowtable"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// deployments are those of testdata/deployments, which tells what they are.
var deployments = map[string]struct {
	file  string
	nodes []string
	zones int
	sizes string   // as the first lines of topology show have them
	shown []string // names of objects
}{
	"ovn-kubernetes": {
		file: "ovnk-1.3-ic", nodes: []string{"ovn-control-plane", "ovn-worker", "ovn-worker2"}, zones: 3,
		sizes: "33 switches, 18 routers, 163 ports", shown: []string{"pod shop/client", "pod blue/b-1", "router GR_ovn-worker2"},
	},
	"neutron": {
		file: "neutron-21.0.0-ovn-23.03", nodes: []string{"compute-1", "compute-2", "network-1"}, zones: 1,
		sizes: "6 switches, 2 routers, 49 ports", shown: []string{"web-1", "ha-vip", "router edge", "198.51.100.160:8080"},
	},
	"kube-ovn": {
		file: "kubeovn-1.15.24-ovn-25.03", nodes: []string{"node1", "node2", "node3"}, zones: 1,
		sizes: "6 switches, 2 routers, 27 ports", shown: []string{"pod bank/vault-1", "router tenant-a", "switch hub-net"},
	},
}

// Real deployments are shown whole, with nothing that could not be read, and the flows of each node are there,
// as ovn-controller would install them.
func TestDeployments(t *testing.T) {
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			ovnctl := func(args ...string) string {
				t.Helper()
				var out, errs strings.Builder
				args = append([]string{"--offline", "../../testdata/deployments/" + d.file + ".tar.zst"}, args...)
				if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitOK || errs.String() != "" {
					t.Fatalf("%q: exit code %d\n%s", args, code, errs.String())
				}
				return out.String()
			}
			text := ovnctl("topology", "show")
			for _, want := range append(d.shown, d.sizes, "3 chassis, 3 nodes read") {
				if !strings.Contains(text, want) {
					t.Errorf("topology show lacks %q\n%s", want, text)
				}
			}
			var doc topology.Document
			if err := json.Unmarshal([]byte(ovnctl("topology", "show", "-o", "json")), &doc); err != nil {
				t.Fatal(err)
			}
			var nodes, zones []string
			for _, n := range doc.Nodes {
				nodes = append(nodes, n.Name)
			}
			for _, s := range doc.Switches {
				if !slices.Contains(zones, s.Zone) {
					zones = append(zones, s.Zone)
				}
			}
			if !slices.Equal(nodes, d.nodes) || len(zones) != d.zones || len(doc.Notes) > 0 {
				t.Errorf("nodes %q, zones %q, notes %q", nodes, zones, doc.Notes)
			}
			for _, node := range d.nodes[:fewer(t, len(d.nodes), 1)] {
				if flows := ovnctl("flows", "--node", node); !strings.HasPrefix(flows, node+"  bridge br-int  ") || strings.Count(flows, "\n") < 100 {
					t.Errorf("flows of %s: %.200s", node, flows)
				}
				if testing.Short() {
					continue
				}
				var table flowtable.FlowsDocument
				if err := json.Unmarshal([]byte(ovnctl("flows", "--expected", "--node", node, "-o", "json")), &table); err != nil {
					t.Fatal(err)
				}
				if e := table.Expected; e == nil || e.Equal < 1000 || e.Edited+e.Missing+e.Foreign > 0 {
					t.Errorf("flows of %s beside those expected: %+v", node, e)
				}
			}
		})
	}
}

// Healthy deployments are found healthy.
func TestDeploymentDoctor(t *testing.T) {
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			doc := examined(t, "../../testdata/deployments/"+d.file+".tar.zst")
			for _, f := range doc.Findings {
				if f.Result.Fault() {
					t.Errorf("found %s: %s", f.Check, f.Title)
				}
			}
			if len(doc.Passed) < 35 {
				t.Errorf("only %d checks passed", len(doc.Passed))
			}
		})
	}
}

// Asked node by node, doctor finds what it finds when it asks all at once.
func TestNodeByNode(t *testing.T) {
	sources := []string{"demo", "demo:healthy"}
	for _, d := range deployments {
		sources = append(sources, "../../testdata/deployments/"+d.file+".tar.zst")
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			want, got := examined(t, source), examined(t, source, "--all-nodes")
			byText := func(a, b doctor.Finding) int {
				return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Title, b.Title))
			}
			for _, doc := range []*doctor.Document{&want, &got} {
				slices.SortFunc(doc.Findings, byText)
			}
			if !reflect.DeepEqual(got.Report, want.Report) {
				t.Errorf("--all-nodes finds\n%+v\nwithout it\n%+v", got.Report, want.Report)
			}
		})
	}
}

// A pod on several networks is its port on the main one; another is asked for by name, and a wrong name is answered with the
// networks that there are.
func TestPodNetworks(t *testing.T) {
	for name, want := range map[string]string{
		"blue/b-1": "10.20.0.4", "blue/b-1@default": "10.244.0.7", "blue/b-1@blue/blue-net": "10.20.0.4",
		"ops/jump": "10.244.1.9", "ops/jump@ops/side": "10.40.0.1",
		"blue/b-1@red": "its networks are blue/blue-net, default",
	} {
		var out, errs strings.Builder
		run(t.Context(), []string{"--offline", "../../testdata/deployments/ovnk-1.3-ic.tar.zst", "topology", "show", name}, strings.NewReader(""), &out, &errs)
		if !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("%s: no %s in\n%s%s", name, want, out.String(), errs.String())
		}
	}
}

// A pod's name means its address on the network of the pod that sends, as isolation is decided there; on none of the
// sender's networks, its primary one.
func TestPodNetworkOfSender(t *testing.T) {
	pairs := []struct{ from, to, want string }{
		{"shop/client", "blue/b-1", "10.244.0.7"},
		{"shop/client", "blue/b-1@blue/blue-net", "10.20.0.4"},
		{"blue/b-2", "blue/b-1", "10.20.0.4"},
		{"shop/client", "b-1:8080", "10.244.0.7"},
		{"shop/client", "pod/blue/b-1", "10.244.0.7"},
		{"shop/client", "10.20.0.4", "10.20.0.4"},
		{"green/g-1", "blue/b-1", "10.20.0.4"},
		{"blue/b-1@default", "shop/client", "10.244.0.3"},
		{"ops/toolbox@ops/side", "ops/jump", "10.40.0.1"},
		{"ops/toolbox", "ops/jump", "10.244.1.9"},
	}
	for _, p := range pairs[:fewer(t, len(pairs), 3)] {
		var out, errs strings.Builder
		run(t.Context(), []string{"--offline", "../../testdata/deployments/ovnk-1.3-ic.tar.zst", "trace", p.from, p.to, "--tcp", "8080"}, strings.NewReader(""), &out, &errs)
		if want := "-> " + p.want + ":8080"; !strings.Contains(strings.ReplaceAll(out.String(), "→", "->"), want) {
			t.Errorf("%s to %s: no %s in\n%s%s", p.from, p.to, want, out.String(), errs.String())
		}
	}
}
