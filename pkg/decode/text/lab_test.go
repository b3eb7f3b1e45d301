//go:build lab

package text

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

func TestLab(t *testing.T) {
	namesAreRight(t, labtest.Shared(t, lab.OVNKubernetes()))
}

// truth is what the databases say of numbers, joined here by itself.
type truth struct {
	datapaths map[uint64]string            // name by tunnel key
	uuids     map[uint64]ovsdb.UUID        // of the Datapath_Binding by tunnel key
	ports     map[[2]uint64]string         // logical port or multicast group by the keys of datapath and port
	flows     map[uint64][]*sb.LogicalFlow // by cookie
	groups    map[ovsdb.UUID]sb.LogicalDPGroup
	rows      map[uint64]string // the table of other rows, by cookie
	zones     map[string]string // name by number
	ofports   map[string]string // logical port, or interface, by OpenFlow port of br-int
	objects   map[string]bool   // first 8 digits of the Northbound's rows that flows are made for
}

// namesAreRight decodes the flows of every node and holds each name of a
// datapath, port, zone and cookie against the databases and the node's tools.
func namesAreRight(t *testing.T, l *lab.Lab) {
	northbound, southbound := ovsdbtest.Dial(t, "OVN_Northbound", l.NB()), ovsdbtest.Dial(t, "OVN_Southbound", l.SB())
	for _, n := range l.Topology.Nodes {
		run := func(args ...string) string {
			out, err := l.Command(t.Context(), n.Name, args...).Output()
			if err != nil {
				t.Fatalf("%s: %s: %v", n.Name, strings.Join(args, " "), err)
			}
			return string(out)
		}
		var rows decode.Vswitch
		if err := ovsdb.Load(t.Context(), ovsdbtest.Dial(t, "Open_vSwitch", "unix:"+l.Dir+"/"+n.Name+"/run/openvswitch/db.sock"), &rows); err != nil {
			t.Fatal(err)
		}
		logical, err := decode.ReadLogical(t.Context(), southbound)
		if err != nil {
			t.Fatal(err)
		}
		tlvs := openflow.ParseTLVMap(run("ovs-ofctl", "-O", "OpenFlow15", "dump-tlv-map", "br-int"))
		version := release.Parse(run("ovn-appctl", "-t", "ovn-controller", "version"))
		namer := decode.NewNamer(&decode.Decoder{
			Names: decode.NewNames(logical, rows, tlvs, version),
			Flows: decode.NewLogicalFlows(southbound), Objects: decode.NewObjects(northbound),
		}, decode.NodeNumbers{})
		a := New(namer, Options{Bridge: "br-int"})
		dump := strings.Split(strings.TrimSpace(run("ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "br-int")), "\n")
		for _, line := range dump {
			a.Learn(line)
		}
		a.Calibrate(t.Context())
		c := checker{t: t, node: n.Name, truth: readTruth(t, northbound, southbound, run), count: map[string]int{}, option: "tun_metadata0"}
		for _, line := range dump {
			if strings.Contains(line, "actions=") {
				got := a.Line(t.Context(), line)
				c.line(line, got)
				c.parsed(namer, line, got)
			}
		}
		t.Logf("%s, OVN %s: of %d flows these names are right: %v", n.Name, version, len(dump), c.count)
		for _, kind := range []string{"metadata", "reg14", "reg15", "cookie", "object", "table", "output", "in_port", "reg13", "reg11", "reg12", "tun_id", "userdata"} {
			if c.count[kind] < 3 {
				t.Errorf("%s: only %d of %s", n.Name, c.count[kind], kind)
			}
		}
	}
}

func find[T ovsdb.Row](t *testing.T, r ovsdb.Reader) []T {
	t.Helper()
	rows, err := ovsdb.Find[T](t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func cookieOf(uuid ovsdb.UUID) uint64 {
	n, _ := strconv.ParseUint(string(uuid[:8]), 16, 32)
	return n
}

func readTruth(t *testing.T, northbound, southbound ovsdb.Reader, run func(...string) string) truth {
	w := truth{
		datapaths: map[uint64]string{}, uuids: map[uint64]ovsdb.UUID{}, ports: map[[2]uint64]string{}, flows: map[uint64][]*sb.LogicalFlow{},
		groups: map[ovsdb.UUID]sb.LogicalDPGroup{}, rows: map[uint64]string{}, zones: map[string]string{}, ofports: map[string]string{}, objects: map[string]bool{},
	}
	keys := map[ovsdb.UUID]uint64{}
	for _, d := range find[sb.DatapathBinding](t, southbound) {
		keys[d.UUID] = uint64(d.TunnelKey)
		w.datapaths[uint64(d.TunnelKey)], w.uuids[uint64(d.TunnelKey)] = d.ExternalIDs["name"], d.UUID
	}
	for _, p := range find[sb.PortBindingNames](t, southbound) {
		w.ports[[2]uint64{keys[p.Datapath], uint64(p.TunnelKey)}] = p.LogicalPort
		w.rows[cookieOf(p.UUID)] = p.LogicalPort
	}
	for _, g := range find[sb.MulticastGroup](t, southbound) {
		w.ports[[2]uint64{keys[g.Datapath], uint64(g.TunnelKey)}] = g.Name
		w.rows[cookieOf(g.UUID)] = g.Name
	}
	for _, row := range find[sb.LoadBalancerName](t, southbound) {
		w.rows[cookieOf(row.UUID)] = row.Name
	}
	for _, row := range find[sb.MACBinding](t, southbound) {
		w.rows[cookieOf(row.UUID)] = row.IP
	}
	for _, row := range find[sb.Chassis](t, southbound) {
		w.rows[cookieOf(row.UUID)] = row.Hostname
	}
	for _, row := range find[sb.LogicalFlow](t, southbound) {
		w.flows[cookieOf(row.UUID)] = append(w.flows[cookieOf(row.UUID)], &row)
	}
	for _, g := range find[sb.LogicalDPGroup](t, southbound) {
		w.groups[g.UUID] = g
	}
	for _, acl := range find[nb.ACL](t, northbound) {
		w.objects[string(acl.UUID[:8])] = true
	}
	for line := range strings.Lines(run("ovn-appctl", "-t", "ovn-controller", "ct-zone-list")) {
		if name, number, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			w.zones[number] = name
		}
	}
	for name := range strings.FieldsSeq(run("ovs-vsctl", "list-ifaces", "br-int")) {
		ofport := strings.TrimSpace(run("ovs-vsctl", "get", "Interface", name, "ofport"))
		w.ofports[ofport] = name
		if strings.HasPrefix(name, "patch-") {
			w.ofports[ofport] = "patch to br-ex"
		}
		if remote := strings.TrimSpace(run("ovs-vsctl", "--if-exists", "get", "Interface", name, "options:remote_ip")); remote != "" {
			w.ofports[ofport] = "(" + strings.Trim(remote, `"`) + ")"
		}
		if id := strings.TrimSpace(run("ovs-vsctl", "--if-exists", "get", "Interface", name, "external_ids:iface-id")); id != "" {
			w.ofports[ofport] = strings.Trim(id, `"`)
		}
	}
	return w
}

type checker struct {
	t      *testing.T
	node   string
	option string
	truth
	count map[string]int
}

// parsed compares the names of a line with those that its parsed form gets.
func (c *checker) parsed(n *decode.Namer, line string, got Line) {
	e, err := new(openflow.Reader).FlowEntry(strings.TrimSpace(line))
	if err != nil {
		c.t.Fatal(err)
	}
	match, actions := n.NamedEntry(c.t.Context(), "br-int", &e, n.Entry(c.t.Context(), "br-int", &e))
	text := decode.NamedText{Text: line, Names: got.Names}.String()
	if want := " actions=" + actions.String(); !strings.HasSuffix(text, want) || !strings.Contains(text, match.String()+" ") {
		c.t.Errorf("%s: parsed, %s\nhas the names %s %s", c.node, text, match, actions)
	}
}

// line compares the names of a flow with what its parsed form and the databases
// say.
func (c *checker) line(line string, got Line) {
	e, err := new(openflow.Reader).FlowEntry(strings.TrimSpace(line))
	if err != nil {
		c.t.Fatal(err)
	}
	names := map[string][]string{} // by "field value"
	for _, n := range got.Names {
		names[n.Field+" "+n.Value] = append(names[n.Field+" "+n.Value], n.Name)
	}
	var metadata uint64
	if term, ok := e.Match.Field("metadata"); ok {
		metadata = term.Value.Lo
	}
	for _, term := range e.Match.Terms {
		if term.Field != nil && !term.Value.IsZero() {
			c.field(line, term.Field, term.Value, term.Field.PrintMatch(term.Value, term.Mask), metadata, names)
		}
	}
	c.actions(line, e.Actions, metadata, 0, names)
	if e.Cookie != 0 {
		c.cookie(line, e, metadata, got, names)
	}
	if got.Flow != nil && got.Flow.Flow != nil {
		c.nested(e, got.Flow.Flow.Actions)
	}
}

// remark is what ovn-northd says about actions in between.
var remark = regexp.MustCompile(`/\*.*?\*/`)

// nested holds the actions that controller actions carry against the logical flow
// that they come from.
func (c *checker) nested(e openflow.FlowEntry, actions string) {
	for _, action := range e.Actions {
		a, ok := action.(openflow.Controller)
		if !ok {
			continue
		}
		u, ok := decode.ParseUserdata(a.Userdata)
		then := u.Then(func(any) string { return "" })
		if !ok || u.Unread || strings.Count(then, " swapped") != strings.Count(remark.ReplaceAllString(actions, ""), "<->") {
			c.t.Errorf("%s: %x is %q of %s", c.node, a.Userdata, then, actions)
		}
		for _, nested := range u.Nested {
			set, ok := nested.(openflow.SetField)
			if !ok {
				continue
			}
			switch set.Field.Format {
			case packet.Ethernet, packet.IPv4, packet.IPv6:
				if text := set.Field.Print(set.Value); !strings.Contains(actions, text) {
					c.t.Errorf("%s: userdata sets %s, which is not in %s", c.node, set, actions)
				}
				c.count["userdata"]++
			}
		}
	}
}

func (c *checker) actions(line string, list openflow.Actions, metadata, vni uint64, names map[string][]string) {
	for _, action := range list {
		switch a := action.(type) {
		case openflow.SetField:
			switch a.Field.Name {
			case "metadata":
				metadata = a.Value.Lo
			case "tun_id":
				vni = a.Value.Lo
			}
			if !a.Value.IsZero() {
				c.field(line, a.Field, a.Value, a.Field.PrintMasked(a.Value, a.Mask), metadata, names)
			}
			if a.Field.Name == c.option && a.Value.Lo>>16 == 0 && !a.Value.IsZero() {
				c.want(line, "tun_metadata0", a.Field.Print(a.Value), c.ports[[2]uint64{vni, a.Value.Lo}], names)
			}
		case openflow.Output:
			if a.Src == nil && a.Port.Number < packet.PortMax {
				c.want(line, "output", a.Port.String(), c.ofports[a.Port.String()], names)
			}
		case openflow.Clone:
			c.actions(line, a.Actions, metadata, vni, names)
		}
	}
}

// field checks the name of a field's value.
func (c *checker) field(line string, f *packet.Field, value packet.Value, text string, metadata uint64, names map[string][]string) {
	switch f.Name {
	case "metadata", "tun_id":
		c.want(line, f.Name, text, c.datapaths[value.Lo], names)
	case "reg14", "reg15":
		c.want(line, f.Name, text, c.ports[[2]uint64{metadata, value.Lo}], names)
	case "reg11", "reg12", "reg13":
		zone := c.zones[fmt.Sprint(value.Lo&0xffff)]
		for _, nat := range []string{"_dnat", "_snat"} {
			if name, ok := strings.CutSuffix(zone, nat); ok { // older releases name them by UUID
				zone = name
				for key, uuid := range c.uuids {
					if string(uuid) == name {
						zone = c.datapaths[key]
					}
				}
			}
		}
		c.want(line, f.Name, text, zone, names)
	case "in_port":
		if value.Lo < packet.PortMax {
			c.want(line, "in_port", text, c.ofports[text], names)
		}
	}
}

// want fails unless a number's name has in it what the databases say.
func (c *checker) want(line, field, value, name string, names map[string][]string) {
	for _, text := range names[field+" "+value] {
		if name != "" && strings.Contains(text+" ", name) {
			c.count[field]++
			return
		}
	}
	c.t.Errorf("%s: %s=%s is named %q, the databases say %q\n%s", c.node, field, value, names[field+" "+value], name, line)
}

// cookie checks what a flow is said to be made from.
func (c *checker) cookie(line string, e openflow.FlowEntry, metadata uint64, got Line, names map[string][]string) {
	f := got.Flow
	if f == nil {
		c.t.Errorf("%s: no flow is seen in\n%s", c.node, line)
		return
	}
	if f.Flow == nil {
		row, known := c.rows[e.Cookie]
		if text := strings.Join(names[fmt.Sprintf("cookie 0x%x", e.Cookie)], " "); !known || !strings.Contains(text, row) {
			c.t.Errorf("%s: cookie 0x%x is of %q, not %q (%s)\n%s", c.node, e.Cookie, row, text, f.Unknown, line)
			return
		}
		c.count["cookie"]++
		return
	}
	right := false
	for _, lf := range c.flows[e.Cookie] {
		g, grouped := c.groups[lf.LogicalDPGroup.Get()]
		right = right || lf.UUID == f.Flow.UUID && (lf.LogicalDatapath.Has(c.uuids[metadata]) || grouped && g.Datapaths.Has(c.uuids[metadata]))
	}
	if !right {
		c.t.Errorf("%s: cookie 0x%x is not of logical flow %s of datapath %d", c.node, e.Cookie, f.Flow.UUID, metadata)
		return
	}
	c.count["cookie"]++
	stage := f.Flow.ExternalIDs["stage-name"]
	c.want(line, "table", fmt.Sprint(max(e.Table.Number, 0)), stage, names)
	if hint := f.Flow.ExternalIDs["stage-hint"]; strings.Contains(stage, "_acl") && c.objects[hint] {
		if len(f.Objects) != 1 || !strings.HasPrefix(string(f.Objects[0].UUID), hint) {
			c.t.Errorf("%s: cookie 0x%x is made for %s, not %v", c.node, e.Cookie, hint, f.Objects)
		}
		c.count["object"]++
	}
}
