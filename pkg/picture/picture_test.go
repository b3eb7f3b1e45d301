package picture_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/picture/picturetest"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

var keep = flag.String("keep", "", "a directory to write the pictures to, to look at them")

// many is a deployment of OVN-Kubernetes' kind: a switch, a gateway router and ten pods on each node.
func many(nodes int, called func(int) string) *topology.Topology {
	t := &topology.Topology{}
	ports := 0
	port := func(p topology.Port) *topology.Port {
		ports++
		p.UUID = fmt.Sprintf("port-%d", ports)
		if p.Name == "" {
			p.Name = p.UUID
		}
		p.State = topology.StateUp
		t.Ports = append(t.Ports, &p)
		return &p
	}
	join := func(router, sw string) {
		a := port(topology.Port{Kind: topology.RouterPort, Router: &topology.Ref{UUID: router}})
		b := port(topology.Port{Kind: topology.SwitchPort, Type: "router", Switch: &topology.Ref{UUID: sw}})
		a.Peer, b.Peer = &topology.Ref{UUID: b.UUID}, &topology.Ref{UUID: a.UUID}
	}
	router := func(uuid, name, chassis string) {
		t.Routers = append(t.Routers, &topology.Router{UUID: uuid, Name: name, Chassis: chassis, Enabled: true})
	}
	sw := func(uuid, name string) {
		t.Switches = append(t.Switches, &topology.Switch{UUID: uuid, Name: name, Subnets: []string{"10.244.0.0/16"}})
	}
	router("cluster", "ovn_cluster_router", "")
	sw("join", "join")
	join("cluster", "join")
	for i := range nodes {
		n, id := called(i), fmt.Sprint(i)
		t.Chassis = append(t.Chassis, &topology.Chassis{UUID: "c" + id, Name: "id-" + n, Hostname: n, Node: n, Encaps: []topology.Encap{{Type: "geneve", IP: "172.30.0.1"}}})
		t.Nodes = append(t.Nodes, &topology.Node{UUID: "n" + id, Name: n, Chassis: "id-" + n, IntegrationBridge: "br-int"})
		router("gr"+id, "GR_"+n, "id-"+n)
		sw("sw"+id, n)
		sw("ext"+id, "ext_"+n)
		join("cluster", "sw"+id)
		join("gr"+id, "join")
		join("gr"+id, "ext"+id)
		for k := range 10 {
			p := port(topology.Port{Name: fmt.Sprintf("shop_pod-%d-%d", i, k), Pod: fmt.Sprintf("shop/pod-%d-%d", i, k), Kind: topology.SwitchPort,
				Switch: &topology.Ref{UUID: "sw" + id, Name: n}, Chassis: "id-" + n, Addresses: []string{"10.244.1.1"}})
			if i == 3 && k == 3 {
				p.State, p.Reason, p.Why = topology.StateDown, "no-interface", "no interface has it"
			}
		}
		ex := &topology.Bridge{UUID: "ex" + id, Name: "br-ex", Node: n, Networks: []string{"physnet"}, Uplinks: []string{"eth0"}}
		if i == 7 {
			ex.Uplinks = nil
		}
		t.Bridges = append(t.Bridges, ex, &topology.Bridge{UUID: "int" + id, Name: "br-int", Node: n})
		for k := range i {
			state := topology.StateUp
			if i == 9 && k == 4 {
				state = topology.StateDown
			}
			t.Tunnels = append(t.Tunnels, &topology.Tunnel{Chassis: []string{"id-" + called(k), "id-" + n}, Types: []string{"geneve"}, State: state})
		}
	}
	return t
}

func draw(t *testing.T, name string, p *picture.Picture) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if *keep != "" {
		if err := os.WriteFile(*keep+"/"+name+".svg", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func plainly(i int) string { return fmt.Sprintf("node%d", i+1) }

// Deployments of any size can be read at 1,200 pixels: with one chassis and with four in full, with more as tiles.
func TestSizes(t *testing.T) {
	for _, nodes := range []int{0, 1, 2, 3, 4, 5, 50} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			start := time.Now()
			svg := draw(t, fmt.Sprintf("made-%d", nodes), picture.Topology(many(nodes, plainly)))
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("took %s", took)
			}
			picturetest.Check(t, svg)
			if nodes < 50 {
				return
			}
			for _, want := range []string{"node8: bridge br-ex has no uplink", "10 pods", "1 of 49 tunnels down", "50 switches", "50 routers", "shop/pod-3-3 is down"} {
				if !bytes.Contains(svg, []byte(want)) {
					t.Errorf("%q is not shown", want)
				}
			}
		})
	}
}

// Names that are markup, that turn the direction of writing, or that are endless stay text and are cut.
func TestHostileNames(t *testing.T) {
	for _, evil := range []string{
		"<script>alert(1)</script>", "\u202egnp.exe", "\x1b[2Jgone", "]]></style><!--", `"onload="x`, strings.Repeat("W", 4000), strings.Repeat("駅", 4000), "e\u0301\u0301\u0301",
	} {
		for _, nodes := range []int{3, 5} {
			svg := draw(t, "hostile", picture.Topology(many(nodes, func(i int) string { return fmt.Sprint(evil, i) })))
			picturetest.Check(t, svg)
			if bytes.Contains(svg, []byte("<script")) || bytes.ContainsAny(svg, "\u202e\x1b") || bytes.Contains(svg, []byte(strings.Repeat("W", 400))) {
				t.Errorf("%.20q is not mere text", evil)
			}
		}
	}
}
