package ovs

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/desired"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	ovnrelease "github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var OFFlowDrift = &doctor.Check{
	Name:     "of-flow-drift",
	Category: "ovs",
	Doc: `Flows of the integration bridge differ from the Southbound

A flow was deleted, added or edited, and ovn-controller did not notice: neither a recompute nor
writing the same value again brings it back. The cookie of each flow is the first 32 bits of the
UUID of its row.`,
	Causes: []string{
		"integration-bridge-empty", "controller-not-running", "vswitchd-not-running", "bridge-fail-mode-wrong", "controller-not-caught-up",
		"controller-northd-version-mismatch", "missing-external-ids", "system-id-cloned", "duplicate-chassis-stale", "encap-ip-not-local",
		"duplicate-iface-id-local", "hostname-mismatch", "port-flapping-two-chassis", "port-not-bound", "sb-rbac-denied", "clients-refuse-rebuilt-db",
	},
	Begin: func(d *snapshot.Deployment) {
		h := d.Local()
		if h == nil {
			return
		}
		bridge := h.LikelyBridge()
		if bridge == "" {
			return
		}
		go func() { _, _ = h.Flows(bridge) }()
		if z := h.Zone(); z != nil {
			go func() { _, _ = z.LikelyFlows(h.SystemID) }()
		}
	},
	Flows: true,
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		if first := drifted(p, c); len(first) > 0 {
			lastingDrift(p, c, first)
		}
	}),
}

// lastingDrift reports drift that a second sample confirms.
func lastingDrift(p *doctor.Pass, c *doctor.Chassis, first drifts) {
	again, ok := doctor.Need(p, doctor.NodeObject(c.Name), p.Again)
	if !ok {
		return
	}
	if again == p.Deployment {
		example := first[first.keys()[0]].seen
		p.Unknown(doctor.BridgeObject(c.Host, c.Bridge), fmt.Errorf("%d flows of %s on %s differ from the Southbound (%s: %s); this capture may have read the two at different moments: take another and see whether they still differ",
			len(first), c.Bridge, c.Name, example.Source, example.Says))
		return
	}
	later := &doctor.Pass{Deployment: again, Check: p.Check}
	h := again.Host(c.Name)
	if h == nil {
		return
	}
	if now, _ := later.ChassisOf(h); now != nil {
		second := drifted(later, now)
		maps.DeleteFunc(second, func(k driftKey, _ drift) bool { _, ok := first[k]; return !ok })
		reportDrift(p, c, second)
	}
}

// A drift is a flow that is missing, edited or foreign.
type drift struct {
	seen doctor.Evidence
	mac  *sb.MACBinding // the flow's neighbour
	port string         // the logical port
}

// A driftKey identifies a drift across both samples.
type driftKey struct {
	kind driftKind
	of   string // a row or a flow
	key  uint64 // the tunnel key of the datapath
}

// A driftKind is what is wrong with a flow.
type driftKind int

// The kinds of drift, in the order of their evidence.
const (
	noInput driftKind = iota
	noOutput
	noNeighbour
	noFlow
	edited
	foreign
)

type drifts map[driftKey]drift

// keys returns the keys of the drifts in order.
func (d drifts) keys() []driftKey {
	return slices.SortedFunc(maps.Keys(d), func(a, b driftKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.of, b.of), cmp.Compare(a.key, b.key))
	})
}

// manyFlows is too many to compare.
const manyFlows = 300_000

// A flowTable has an integration bridge's flows by the row they were made from.
type flowTable struct {
	all      []openflow.FlowEntry
	byCookie map[uint32][]*openflow.FlowEntry
	datapath map[uint64]bool // metadata of the flows with a cookie: the datapaths on this node
}

// drifted compares a node's flows with the Southbound. It finds nothing if they lag for another reason.
func drifted(p *doctor.Pass, c *doctor.Chassis) drifts {
	if c.Row == nil || c.SB == nil || !caughtUp(c) || !doctor.ControllerReplies(c.Host) || !p.InterfacesCurrent(c.Host) {
		return nil // that is another finding
	}
	object := doctor.BridgeObject(c.Host, c.Bridge)
	// Begin started reading the flows: read the rest meanwhile.
	learned, errLearned := c.Zone().Learned()
	groups, errGroups := c.Zone().DatapathGroups()
	likely := likelyFlows(c)
	flows, ok := doctor.Need(p, object, func() ([]openflow.FlowEntry, error) { return c.Flows(c.Bridge) })
	if !ok {
		return nil
	}
	if len(flows) > manyFlows {
		p.Unknown(object, fmt.Errorf("bridge %s has %d flows: too many to compare with the Southbound", c.Bridge, len(flows)))
		return nil
	}
	t := tableOf(flows)
	if len(t.datapath) == 0 {
		return nil // an empty bridge is another finding
	}
	found := drifts{}
	portDrift(c, t, found)
	tunnelDrift(c, t, found)
	if errLearned != nil {
		p.Unknown(doctor.SouthboundObject, errLearned)
	} else {
		neighbourDrift(c, t, learned.MACBindings, found)
	}
	if errGroups == nil {
		errGroups = logicalDrift(c, t, groups, likely, found)
	}
	if errGroups != nil {
		p.Unknown(object, errGroups)
	}
	return found
}

// caughtUp reports whether the chassis has applied the Southbound.
func caughtUp(c *doctor.Chassis) bool {
	if len(c.SB.Globals) == 0 {
		return false
	}
	for _, r := range c.SB.ChassisPrivate {
		if r.Name == c.SystemID {
			return r.NBCfg >= c.SB.Globals[0].NBCfg
		}
	}
	return !zoneHas(c, "Chassis_Private")
}

func zoneHas(c *doctor.Chassis, table string) bool {
	db, err := c.Zone().SB()
	return err != nil || db.Has(table, "")
}

func tableOf(flows []openflow.FlowEntry) *flowTable {
	t := &flowTable{all: flows, byCookie: make(map[uint32][]*openflow.FlowEntry, len(flows)), datapath: map[uint64]bool{}}
	for f := range doctor.Each(flows) {
		if f.Cookie == 0 {
			continue
		}
		t.byCookie[uint32(f.Cookie)] = append(t.byCookie[uint32(f.Cookie)], f)
		if key, ok := metadata(f); ok {
			t.datapath[key] = true
		}
	}
	return t
}

func metadata(f *openflow.FlowEntry) (uint64, bool) {
	term, ok := f.Match.Field("metadata")
	return term.Value.Lo, ok
}

func table(f *openflow.FlowEntry) int {
	if f.Table == openflow.NoTable {
		return 0
	}
	return f.Table.Number
}

// portDrift looks for the two flows of each port bound here: into the pipeline and out of it.
func portDrift(c *doctor.Chassis, t *flowTable, found drifts) {
	bindings := doctor.PortBindings(c.SB)
	local := map[uint32]string{} // logical ports by OpenFlow port
	for _, i := range c.OVS.BridgeInterfaces() {
		b := bindings[i.ExternalIDs["iface-id"]]
		if b == nil || b.Type != "" || i.Bridge.Name != c.Bridge || !b.Chassis.Has(c.Row.UUID) || i.OFNumber() == 0 || i.ExternalIDs["ovn-installed"] != "true" {
			continue
		}
		number := uint32(i.OFNumber())
		local[number] = b.LogicalPort
		cookie, ok := decode.Prefix(b.UUID)
		if !ok {
			continue
		}
		flows := t.byCookie[cookie]
		if !slices.ContainsFunc(flows, func(f *openflow.FlowEntry) bool { return takesFrom(f, number) && len(f.Actions) > 0 }) {
			found[driftKey{kind: noInput, of: b.LogicalPort}] = drift{port: b.LogicalPort,
				seen: doctor.SBRow("Port_Binding", b.UUID, "%s: no flow cookie=0x%x of table 0 matches in_port=%d and has actions", b.LogicalPort, cookie, number)}
		}
		if !slices.ContainsFunc(flows, func(f *openflow.FlowEntry) bool { return sendsTo(f, number) }) {
			found[driftKey{kind: noOutput, of: b.LogicalPort}] = drift{port: b.LogicalPort,
				seen: doctor.SBRow("Port_Binding", b.UUID, "%s: no flow cookie=0x%x has the action output:%d", b.LogicalPort, cookie, number)}
		}
	}
	for f := range doctor.Each(t.all) {
		in, ok := f.Match.Field("in_port")
		if port := local[in.Port.Number]; ok && port != "" && f.Cookie == 0 && table(f) == 0 {
			found[driftKey{kind: foreign, of: f.Match.String()}] = drift{port: port, seen: doctor.Evidence{Source: doctor.Flows(c.Bridge).On(c.Name), Says: f.String()}}
		}
	}
}

// tunnelDrift looks for a flow that takes the packets of each tunnel to a chassis.
func tunnelDrift(c *doctor.Chassis, t *flowTable, found drifts) {
	for _, i := range c.OVS.BridgeInterfaces() {
		number := uint32(i.OFNumber())
		if !facts.IsTunnel(i.Type) || i.Port.ExternalIDs["ovn-chassis-id"] == "" || i.Bridge.Name != c.Bridge || number == 0 {
			continue
		}
		if !slices.ContainsFunc(t.all, func(f openflow.FlowEntry) bool { return takesFrom(&f, number) }) {
			found[driftKey{kind: noInput, of: "tunnel " + i.Name}] = drift{
				seen: doctor.OVS("Interface", i.Name).On(c.Name).Says(fmt.Sprintf("no flow of table 0 matches in_port=%d: what arrives in the tunnel is dropped", number))}
		}
	}
}

// takesFrom reports whether a flow takes an OpenFlow port's packets into the pipeline.
func takesFrom(f *openflow.FlowEntry, number uint32) bool {
	in, ok := f.Match.Field("in_port")
	return ok && table(f) == 0 && in.Port.Number == number
}

// sendsTo reports whether a flow sends packets to an OpenFlow port.
func sendsTo(f *openflow.FlowEntry, number uint32) bool {
	return slices.ContainsFunc(f.Actions, func(a openflow.Action) bool {
		o, ok := a.(openflow.Output)
		return ok && o.Src == nil && o.Port.Number == number
	})
}

// neighbourDrift looks for the flow of each neighbour learned by a router on this node.
func neighbourDrift(c *doctor.Chassis, t *flowTable, rows []sb.MACBinding, found drifts) {
	keys := map[ovsdb.UUID]uint64{}
	for _, d := range c.SB.Datapaths {
		keys[d.UUID] = uint64(d.TunnelKey)
	}
	bindings := doctor.PortBindings(c.SB)
	for row := range doctor.Each(rows) {
		cookie, ok := decode.Prefix(row.UUID)
		mac, err := net.ParseMAC(row.MAC)
		if !ok || err != nil || !t.datapath[keys[row.Datapath]] || bindings[row.LogicalPort] == nil || strings.Trim(row.MAC, "0:") == "" {
			continue
		}
		d := drift{mac: row, port: row.LogicalPort, seen: doctor.SBRow("MAC_Binding", row.UUID, "logical_port=%s ip=%s mac=%s, and no flow has cookie=0x%x", row.LogicalPort, row.IP, row.MAC, cookie)}
		right := false
		for _, f := range t.byCookie[cookie] {
			written, ok := destination(f)
			if ok && written != packet.FromBytes(mac) {
				d.seen.Says = fmt.Sprintf("mac=%s, and its flow is %s", row.MAC, f.String())
			}
			right = right || ok && written == packet.FromBytes(mac)
		}
		if !right {
			found[driftKey{kind: noNeighbour, of: string(row.UUID)}] = d
		}
	}
}

// destination returns the destination MAC address that a flow sets.
func destination(f *openflow.FlowEntry) (packet.Value, bool) {
	for _, a := range f.Actions {
		switch a := a.(type) {
		case openflow.SetField:
			if a.Field.Name == "eth_dst" {
				return a.Value, true
			}
		case openflow.Load:
			if a.Dst.Field.Name == "eth_dst" {
				return a.Value, true
			}
		case openflow.Modify:
			if a.Field != nil && a.Field.Name == "eth_dst" {
				return a.Value, true
			}
		}
	}
	return packet.Value{}, false
}

// An expectedRow is a logical flow with what its OpenFlow flows must be.
type expectedRow struct {
	*sb.LogicalFlowBrief
	cookie uint32
	must   bool // it exists wherever the datapath does
}

// expected are the logical flows of some datapaths, also by their flows' cookie.
type expected struct {
	datapaths []ovsdb.UUID
	rows      []expectedRow
	byCookie  map[uint32][]*sb.LogicalFlowBrief
}

// A matchKey is where a logical flow is looked up and what it matches. Of rows that share it on one datapath
// ovn-controller installs one.
type matchKey struct {
	pipeline        string
	table, priority int
	match           string
}

func matchOf(r *sb.LogicalFlowBrief) matchKey {
	return matchKey{r.Pipeline, r.TableID, r.Priority, r.Match}
}

func expect(rows []sb.LogicalFlowBrief, datapaths []ovsdb.UUID) *expected {
	e := &expected{datapaths, make([]expectedRow, 0, len(rows)), make(map[uint32][]*sb.LogicalFlowBrief, len(rows))}
	for r := range doctor.Each(rows) {
		if cookie, ok := decode.Prefix(r.UUID); ok {
			e.rows = append(e.rows, expectedRow{r, cookie, must(r)})
			e.byCookie[cookie] = append(e.byCookie[cookie], r)
		}
	}
	return e
}

// likelyFlows returns the logical flows of the datapaths most likely on the node.
func likelyFlows(c *doctor.Chassis) *expected {
	likely, err := c.Zone().LikelyFlows(c.SystemID)
	if err != nil {
		return &expected{} // logicalDrift reads the actual datapaths' flows, or reports why it cannot
	}
	return expect(likely.Rows, likely.Datapaths)
}

// logicalDrift compares the pipelines' flows with the logical flows of the node's datapaths, which likely may already
// hold.
func logicalDrift(c *doctor.Chassis, t *flowTable, groups []sb.LogicalDPGroup, likely *expected, found drifts) error {
	if !sameRelease(c) {
		return fmt.Errorf("ovn-controller of %s is of another release than ovn-northd and may not understand all logical flows: only ports and neighbours were compared", c.Name)
	}
	here := map[ovsdb.UUID]uint64{}
	foreseen := true
	for _, d := range c.SB.Datapaths {
		if t.datapath[uint64(d.TunnelKey)] {
			here[d.UUID] = uint64(d.TunnelKey)
			foreseen = foreseen && slices.Contains(likely.datapaths, d.UUID)
		}
	}
	members := map[ovsdb.UUID][]ovsdb.UUID{}
	for _, g := range groups {
		for _, d := range g.Datapaths {
			if _, ok := here[d]; ok {
				members[g.UUID] = append(members[g.UUID], d)
			}
		}
	}
	if !foreseen {
		of := slices.Sorted(maps.Keys(here))
		rows, err := c.Zone().LogicalFlows(of, slices.Sorted(maps.Keys(members)))
		if err != nil {
			return fmt.Errorf("%w; of %s only ports and neighbours were compared", err, c.Name)
		}
		likely = expect(rows, of)
	}
	l := &logicalFlows{Chassis: c, flows: t, expected: likely, here: here, members: members}
	if reshaped := l.compare(found); reshaped > 0 {
		return fmt.Errorf("ovn-controller of %s makes other flows of some logical flows than ovnctl expects: %d flows were not compared; `ovnctl flows --expected` shows them", c.Name, reshaped)
	}
	return nil
}

// logicalFlows are the logical flows of a node's datapaths, beside its OpenFlow flows.
type logicalFlows struct {
	*doctor.Chassis
	*expected
	flows   *flowTable
	here    map[ovsdb.UUID]uint64
	members map[ovsdb.UUID][]ovsdb.UUID
	base    map[string]int // each pipeline's first OpenFlow table
	stages  map[int]bool   // OpenFlow tables that are stages
	output  map[string]int // each pipeline's table that output leads to
	ports   map[string]*sb.PortBindingBrief
}

// compare returns how many flows were not compared, as logical flows are compiled in another way than is known.
func (l *logicalFlows) compare(found drifts) (reshaped int) {
	votes := map[string]map[int]int{"ingress": {}, "egress": {}}
	outputs := map[string]map[int]int{"ingress": {}, "egress": {}}
	for _, r := range l.rows {
		if votes[r.Pipeline] == nil {
			continue
		}
		_, sends := sendsOut(r.Actions)
		for _, f := range l.flows.byCookie[r.cookie] {
			votes[r.Pipeline][table(f)-r.TableID]++
			if to, ok := leadsTo(f); ok && sends {
				outputs[r.Pipeline][to]++
			}
		}
	}
	l.base, l.output, l.stages, l.ports = most(votes), most(outputs), map[int]bool{}, doctor.PortBindings(l.SB)
	for _, r := range l.rows {
		l.stages[l.base[r.Pipeline]+r.TableID] = true
	}
	if reshaped, ok := l.compiled(found); ok {
		return reshaped
	}
	l.missing(found, l.rows)
	l.edited(found)
	return 0
}

// compiled compares the pipelines' flows with those that ovn-controller makes of the logical flows, and returns how many
// are reshaped. It reports false if those are not known: of a release that it was never compared with, or without what the flows
// depend on.
func (l *logicalFlows) compiled(found drifts) (reshaped int, ok bool) {
	d, err := l.Daemon("ovn-controller")
	if err != nil {
		return 0, false
	}
	version := ovnrelease.Parse(d.Version)
	tables, ok := desired.TablesAt(version, l.base["ingress"], l.base["egress"])
	if !ok || !desired.Verified(version) {
		return 0, false
	}
	inputs, err := l.Zone().Compilation()
	if err != nil {
		return 0, false
	}
	groups, err := l.Groups(l.Bridge)
	if err != nil {
		return 0, false
	}
	n := &desired.Node{SystemID: l.SystemID, Version: version, Tables: tables, Groups: groups, Datapaths: map[uint64]bool{}}
	n.Switch(desired.Switch{Interfaces: l.OVS.Interfaces, Datapaths: l.OVS.Datapaths, Collectors: l.OVS.Collectors})
	for _, key := range l.here {
		n.Datapaths[key] = true
	}
	if meters, err := l.Host.Control("ovn-controller", "meter-table-list"); err == nil {
		n.ParseMeters(meters) // without them, flows that need one are not compiled
	}
	logical := make([]sb.LogicalFlow, len(l.rows))
	for i, r := range l.rows {
		logical[i] = sb.LogicalFlow{LogicalFlowMatch: r.LogicalFlowMatch, Actions: r.Actions, ControllerMeter: r.ControllerMeter, Tags: r.Tags}
		if _, ok := l.here[r.Owner]; ok {
			logical[i].LogicalDatapath = ovsdb.Set[ovsdb.UUID]{r.Owner}
		} else {
			logical[i].LogicalDPGroup = ovsdb.Set[ovsdb.UUID]{r.Owner}
		}
	}
	of := make([]sb.LogicalDPGroup, 0, len(l.members))
	for id, members := range l.members {
		of = append(of, sb.LogicalDPGroup{UUID: id, Datapaths: members})
	}
	wanted, problems := desired.New(inputs, n).All(desired.NewLogicalFlows(logical, of))
	// Which flows of a logical flow about one port there are depends on what ovn-controller went through, too: it leaves some of a
	// port that has gone, and lacks some of one that has come back.
	ofPort := map[uint64]bool{}
	for _, r := range l.rows {
		if r.Tags["in_out_port"] != "" {
			ofPort[uint64(r.cookie)] = true
		}
	}
	unknown := map[uint64]bool{}
	for _, p := range problems {
		cookie, _ := decode.Prefix(p.Row.UUID)
		unknown[uint64(cookie)] = true
	}
	installed := slices.DeleteFunc(slices.Clone(l.flows.all), func(f openflow.FlowEntry) bool { return !tables.In(&f) })
	for _, p := range desired.Compare(wanted, installed) {
		f := p.Any()
		switch {
		case p.Reshaped:
			reshaped++
			continue
		case ofPort[f.Cookie] && p.Difference != desired.Edited:
			continue
		}
		key, _ := metadata(f)
		switch {
		case p.Difference == desired.Missing:
			found[driftKey{noFlow, flowID(f), key}] = drift{seen: doctor.Evidence{
				Source: doctor.Flows(l.Bridge).On(l.Name), Says: "missing: " + l.seen(f).Says,
			}}
		case p.Difference == desired.Edited && !slices.ContainsFunc(p.Desired, func(d *openflow.FlowEntry) bool { return desired.SameActions(d, f) }):
			d := drift{seen: l.seen(f)}
			d.seen.Says += "; ovn-controller would install actions=" + doctor.Shorten(p.Desired[0].Actions.String(), 120)
			found[driftKey{kind: edited, of: flowID(f)}] = d
		case p.Difference == desired.Foreign && !unknown[f.Cookie] && (len(unknown) == 0 || !isConjunction(f)) && (f.Cookie == 0 || n.Datapaths[key]):
			found[driftKey{kind: foreign, of: flowID(f)}] = drift{seen: l.seen(f)}
		}
	}
	// A flow goes with the group that it leads to, and without the group's number it is not compiled.
	l.missing(found, slices.DeleteFunc(slices.Clone(l.rows), func(r expectedRow) bool { return !unknown[uint64(r.cookie)] }))
	return reshaped, true
}

// most returns each pipeline's value with most votes.
func most(votes map[string]map[int]int) map[string]int {
	winner := map[string]int{}
	for pipeline, of := range votes {
		for x, n := range of {
			if n > of[winner[pipeline]] || winner[pipeline] == 0 {
				winner[pipeline] = x
			}
		}
	}
	return winner
}

// sameRelease reports whether ovn-controller is of ovn-northd's release. During an upgrade it may not be, and may not
// understand a logical flow and make no flow of it.
func sameRelease(c *doctor.Chassis) bool {
	d, err := c.Daemon("ovn-controller")
	if err != nil || d.Liveness != snapshot.Answers {
		return true // in a capture the release is not known
	}
	for _, g := range c.SB.Globals {
		theirs, _, _ := strings.Cut(g.Options["northd_internal_version"], "-")
		if theirs != "" && release(theirs) != release(d.Version) {
			return false
		}
	}
	return true
}

// release returns year and month of a version, "23.03" of "23.03.1".
func release(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

// keys returns the tunnel keys of a row's datapaths on the node.
func (l *logicalFlows) keys(r *sb.LogicalFlowBrief) []uint64 {
	if key, ok := l.here[r.Owner]; ok {
		return []uint64{key}
	}
	var keys []uint64
	for _, d := range l.members[r.Owner] {
		keys = append(keys, l.here[d])
	}
	return keys
}

// missing looks among rows for logical flows that must have a flow on the node but do not.
func (l *logicalFlows) missing(found drifts, rows []expectedRow) {
	lacking := map[matchKey][]expectedRow{}
	for _, r := range rows {
		if r.must && len(l.lacks(r, r.cookie)) > 0 {
			lacking[matchOf(r.LogicalFlowBrief)] = append(lacking[matchOf(r.LogicalFlowBrief)], r)
		}
	}
	if len(lacking) == 0 {
		return
	}
	alike := map[matchKey][]uint32{} // the cookies of all rows with such a match
	for _, r := range l.rows {
		if k := matchOf(r.LogicalFlowBrief); lacking[k] != nil {
			alike[k] = append(alike[k], r.cookie)
		}
	}
	for k, rows := range lacking {
		for _, r := range rows {
			keys := slices.DeleteFunc(l.lacks(r, alike[k]...), func(key uint64) bool { return l.replaced(r, key) })
			for _, key := range keys {
				found[driftKey{noFlow, string(r.UUID), key}] = drift{seen: doctor.SBRow("Logical_Flow", r.UUID, "%s table %d priority %d match %q actions %q: no flow cookie=0x%x metadata=0x%x",
					r.Pipeline, r.TableID, r.Priority, doctor.Shorten(r.Match, 120), doctor.Shorten(r.Actions, 120), r.cookie, key)}
			}
		}
	}
}

// lacks returns the datapaths of a row on which no flow has one of some cookies.
func (l *logicalFlows) lacks(r expectedRow, cookies ...uint32) []uint64 {
	has := map[uint64]bool{}
	for _, cookie := range cookies {
		for _, f := range l.flows.byCookie[cookie] {
			key, ok := metadata(f)
			if !ok {
				return nil // a flow without metadata may apply to all datapaths
			}
			has[key] = true
		}
	}
	return slices.DeleteFunc(l.keys(r.LogicalFlowBrief), func(key uint64) bool { return has[key] })
}

// replaced reports whether a flow of another row does what a row's own would: of a row that was written anew, whose flow stays,
// or of one whose match is the same once its template variables are filled in.
func (l *logicalFlows) replaced(r expectedRow, key uint64) bool {
	addresses := addressesIn(r.Match)
	if len(addresses) == 0 {
		return false // nothing shows that a flow matches the same
	}
	return slices.ContainsFunc(l.flows.all, func(f openflow.FlowEntry) bool {
		of, _ := metadata(&f)
		if of != key || table(&f) != l.base[r.Pipeline]+r.TableID || f.Priority != r.Priority || !l.agrees(r.LogicalFlowBrief, &f) {
			return false
		}
		rows := l.byCookie[uint32(f.Cookie)]
		template := slices.ContainsFunc(rows, func(r *sb.LogicalFlowBrief) bool { return strings.Contains(r.Match, "^") })
		return (len(rows) == 0 || template) && slices.Equal(addressesIn(f.Match.String()), addresses)
	})
}

// addressesIn returns the addresses and prefixes in the text of a match, sorted.
func addressesIn(match string) []string {
	var found []string
	for _, word := range strings.FieldsFunc(match, func(r rune) bool { return strings.ContainsRune(" ,=()", r) }) {
		_, err := netip.ParseAddr(word)
		_, errPrefix := netip.ParsePrefix(word)
		if err == nil || errPrefix == nil {
			found = append(found, word)
		}
	}
	slices.Sort(found)
	return found
}

// must reports whether a logical flow has a flow on every chassis with its datapath. One that names a port or a set may
// have none, if the port is elsewhere or the set is empty, as may one with a contradictory match.
func must(r *sb.LogicalFlowBrief) bool {
	for _, word := range []string{"inport", "outport", "is_chassis_resident", "$", "@", "^"} {
		if strings.Contains(r.Match, word) || word != "inport" && word != "outport" && strings.Contains(r.Actions, word) {
			return false
		}
	}
	// Anything but a conjunction of plain comparisons may match nothing.
	return !strings.ContainsAny(r.Match, "|!{") || r.Match == "1"
}

// edited looks for flows of the stages that no row explains, or that differ from their row.
func (l *logicalFlows) edited(found drifts) {
	here := map[uint64]bool{}
	for _, key := range l.here {
		here[key] = true
	}
	for f := range doctor.Each(l.flows.all) {
		if !l.stages[table(f)] {
			continue
		}
		rows := l.byCookie[uint32(f.Cookie)]
		key, ok := metadata(f)
		switch {
		case f.Cookie == 0 && isConjunction(f): // ovn-controller's: several rows may share them
		case f.Cookie == 0, len(rows) == 0 && ok && here[key]:
			found[driftKey{kind: foreign, of: flowID(f)}] = drift{seen: l.seen(f)}
		case len(rows) > 0 && !slices.ContainsFunc(rows, func(r *sb.LogicalFlowBrief) bool {
			return l.base[r.Pipeline]+r.TableID == table(f) && r.Priority == f.Priority && l.agrees(r, f)
		}):
			d := drift{seen: l.seen(f)}
			d.seen.Says += fmt.Sprintf("; its row has %s table %d priority %d actions %q", rows[0].Pipeline, rows[0].TableID, rows[0].Priority, doctor.Shorten(rows[0].Actions, 120))
			found[driftKey{kind: edited, of: flowID(f)}] = d
		}
	}
}

// isConjunction reports whether a flow is part of a conjunctive match, ovs-fields(7).
func isConjunction(f *openflow.FlowEntry) bool {
	return slices.ContainsFunc(f.Actions, func(a openflow.Action) bool { _, ok := a.(openflow.Conjunction); return ok })
}

// flowID identifies a flow regardless of actions and statistics.
func flowID(f *openflow.FlowEntry) string {
	return fmt.Sprintf("%x %d %d %s", f.Cookie, table(f), f.Priority, f.Match)
}

// seen returns a flow as evidence.
func (l *logicalFlows) seen(f *openflow.FlowEntry) doctor.Evidence {
	return doctor.Evidence{
		Source: doctor.Flows(l.Bridge).On(l.Name),
		Says:   fmt.Sprintf("cookie=0x%x table=%d priority=%d %s actions=%s", f.Cookie, table(f), f.Priority, doctor.Shorten(f.Match.String(), 120), doctor.Shorten(f.Actions.String(), 120)),
	}
}

// sendsOut reports whether a row's actions only output packets, and to which port if they name one.
func sendsOut(actions string) (port string, ok bool) {
	if actions == "output;" {
		return "", true
	}
	rest, named := strings.CutPrefix(actions, `outport = "`)
	port, rest, _ = strings.Cut(rest, `"; `)
	return port, named && rest == "output;"
}

// agrees reports whether a flow's actions can be those of its row, as far as the simplest actions show.
func (l *logicalFlows) agrees(r *sb.LogicalFlowBrief, f *openflow.FlowEntry) bool {
	drop, forwards := len(f.Actions) == 0, false
	for _, a := range f.Actions {
		switch a.(type) {
		case openflow.Drop:
			drop = true
		case openflow.Resubmit, openflow.Output:
			forwards = true
		}
	}
	if isConjunction(f) {
		return true // the actions are in the flow with the conjunction's id
	}
	to, ok := leadsTo(f)
	port, sends := sendsOut(r.Actions)
	switch actions := strings.TrimSpace(r.Actions); {
	case actions == "":
		return true
	case actions == "drop;", actions == "/* drop */":
		return !forwards // a drop may be sampled
	case drop:
		return false
	case actions == "next;":
		return len(f.Actions) == 1 && ok && to == table(f)+1
	case strings.HasSuffix(actions, "; next;"):
		return ok && to == table(f)+1
	case sends:
		return ok && to == l.output[r.Pipeline] && l.rightPort(port, f)
	}
	return true
}

// leadsTo returns the table that a flow resubmits to last.
func leadsTo(f *openflow.FlowEntry) (int, bool) {
	if len(f.Actions) == 0 {
		return 0, false
	}
	r, ok := f.Actions[len(f.Actions)-1].(openflow.Resubmit)
	return r.Table.Number, ok && r.Port == nil && r.Table != openflow.NoTable
}

// rightPort reports whether a flow sends packets to the port that its row names; true if the name may be a multicast
// group's.
func (l *logicalFlows) rightPort(name string, f *openflow.FlowEntry) bool {
	port := l.ports[name]
	key, ok := metadata(f)
	if port == nil || !ok || l.here[port.Datapath] != key {
		return true
	}
	for _, a := range f.Actions {
		switch a := a.(type) {
		case openflow.SetField:
			if a.Field.Name == "reg15" {
				return a.Value.Lo == uint64(port.TunnelKey)
			}
		case openflow.Load:
			if a.Dst.Field.Name == "reg15" {
				return a.Value.Lo == uint64(port.TunnelKey)
			}
		}
	}
	return true
}

// mostEvidence bounds how many flows a finding shows.
const mostEvidence = 6

// reportDrift reports each neighbour, as each has its own repair, and the rest as one finding of the bridge.
func reportDrift(p *doctor.Pass, c *doctor.Chassis, all drifts) {
	bridge := doctor.BridgeObject(c.Host, c.Bridge)
	f := doctor.Finding{
		Object: bridge,
		Also:   []doctor.Object{doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("flows of %s on %s differ from the Southbound", c.Bridge, c.Name),
		Cause:  "flows were deleted, added or edited by hand or by another program; ovn-controller assumes that its flows are still there",
		Effect: "packets take another path than the logical network has, or are lost",
		Fix:    catalog.RestartController.With(),
	}
	for _, k := range all.keys() {
		d := all[k]
		if d.mac != nil {
			name := d.mac.LogicalPort + " " + d.mac.IP
			p.Report(doctor.Finding{
				Object:   doctor.Object{Kind: "MAC binding", Name: name, Node: c.Name}, // several nodes may lack it
				Also:     []doctor.Object{doctor.NodeObject(c.Name), bridge, doctor.PortObject(d.port), {Kind: "MAC binding", Name: name}},
				Title:    fmt.Sprintf("%s lacks the flow of neighbour %s of port %s", c.Name, d.mac.IP, d.mac.LogicalPort),
				Evidence: []doctor.Evidence{d.seen},
				Cause:    "the flow was deleted or edited, and ovn-controller did not notice",
				Effect:   fmt.Sprintf("packets that routers on %s send to %s are lost", c.Name, d.mac.IP),
				Fix:      catalog.ReinstallMACBinding.With(d.mac.LogicalPort, d.mac.IP),
			})
			continue
		}
		f.Concern(doctor.PortObject(d.port))
		f.Evidence = append(f.Evidence, d.seen)
	}
	if more := len(f.Evidence) - mostEvidence; more > 0 {
		f.Evidence = append(f.Evidence[:mostEvidence], doctor.Evidence{Source: doctor.Flows(c.Bridge), Says: fmt.Sprintf("and %d more", more)})
	}
	if len(f.Evidence) > 0 {
		p.Report(f)
	}
}
