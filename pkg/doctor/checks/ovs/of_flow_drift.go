package ovs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var OFFlowDrift = &doctor.Check{
	Name:     "of-flow-drift",
	Category: "ovs",
	Doc: `Flows of the integration bridge are not what the Southbound says

A flow was deleted, added or edited under ovn-controller, which goes on believing in what it
has installed: neither a recompute nor a write of the same value brings it back. Each flow
carries the first 32 bits of the UUID of the row it was made from.`,
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
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			first, ok := drifted(p, c)
			if !ok || len(first) == 0 {
				continue
			}
			again, ok := doctor.Need(p, doctor.NodeObject(c.Name), p.Again)
			if !ok {
				continue
			}
			if again == p.Deployment {
				some := first[slices.Min(slices.Collect(maps.Keys(first)))]
				p.Unknown(doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Name}, fmt.Errorf("%d flows of %s on %s are not what the Southbound says (%s: %s), in saved data, where the two need not be of one moment: save it again and see whether they still differ",
					len(first), c.Bridge, c.Name, some.seen.Source, some.seen.Says))
				continue
			}
			second := map[string]drift{}
			for c2 := range (&doctor.Pass{Deployment: again, Check: p.Check}).Chassis() {
				if c2.Name == c.Name {
					second, _ = drifted(&doctor.Pass{Deployment: again, Check: p.Check}, c2)
				}
			}
			var both []drift
			for _, key := range slices.Sorted(maps.Keys(first)) {
				if d, ok := second[key]; ok {
					both = append(both, d)
				}
			}
			reportDrift(p, c, both)
		}
	},
}

// A drift is a flow that is missing, edited or nobody's.
type drift struct {
	row   string // "Logical_Flow", "Port_Binding", "MAC_Binding"; empty: no row
	title string
	seen  doctor.Evidence
	mac   *sb.MACBinding
	port  string // the logical port
}

// manyFlows of a bridge are not held against the Southbound.
const manyFlows = 300_000

// flowTable are the flows of an integration bridge by what they were made from.
type flowTable struct {
	all      []openflow.FlowEntry
	byCookie map[uint32][]*openflow.FlowEntry
	datapath map[uint64]bool // metadata of the flows with a cookie: the datapaths that are here
}

// drifted holds the flows of a node against the Southbound. It is false where that says nothing.
func drifted(p *doctor.Pass, c *doctor.Chassis) (map[string]drift, bool) {
	if c.Row == nil || c.SB == nil || !caughtUp(c) || !doctor.ControllerReplies(c.Host) || !p.InterfacesCurrent(c.Host) {
		return nil, false // the flows lag behind for another reason, which is another finding
	}
	// The flows are on their way: what else is needed is read meanwhile.
	learned, errLearned := c.Zone().Learned()
	groups, errGroups := c.Zone().DatapathGroups()
	likely := likelyFlows(c)
	flows, err := c.Flows(c.Bridge)
	if err != nil {
		p.Unknown(doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Name}, err)
		return nil, false
	}
	if len(flows) > manyFlows {
		p.Unknown(doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Name}, fmt.Errorf("bridge %s has %d flows: more than are held against the Southbound", c.Bridge, len(flows)))
		return nil, false
	}
	t := tableOf(flows)
	if len(t.datapath) == 0 {
		return nil, false // an empty bridge is another finding
	}
	found := map[string]drift{}
	portDrift(c, t, found)
	if errLearned != nil {
		p.Unknown(doctor.SouthboundObject, errLearned)
	} else {
		neighbourDrift(c, t, learned.MACBindings, found)
	}
	if errGroups == nil {
		errGroups = logicalDrift(c, t, groups, likely, found)
	}
	if err := errGroups; err != nil {
		p.Unknown(doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Name}, err)
	}
	return found, true
}

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
	for i := range flows {
		f := &flows[i]
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

// portDrift looks for the two flows of each port that is bound here: into the pipeline and out of it.
func portDrift(c *doctor.Chassis, t *flowTable, found map[string]drift) {
	bound := doctor.PortBindings(c.SB)
	local := map[int]string{}
	for _, plug := range c.OVS.Plugs() {
		b := bound[plug.ExternalIDs["iface-id"]]
		if b == nil || b.Type != "" || plug.Bridge.Name != c.Bridge || !b.Chassis.Has(c.Row.UUID) || plug.OFNumber() == 0 || plug.ExternalIDs["ovn-installed"] != "true" {
			continue
		}
		local[plug.OFNumber()] = b.LogicalPort
		cookie, ok := decode.Prefix(b.UUID)
		if !ok {
			continue
		}
		into, out := false, false
		for _, f := range t.byCookie[cookie] {
			if term, ok := f.Match.Field("in_port"); ok && table(f) == 0 && term.Port.Number == uint32(plug.OFNumber()) {
				into = into || len(f.Actions) > 0
			}
			for _, a := range f.Actions {
				if o, ok := a.(openflow.Output); ok && o.Src == nil && o.Port.Number == uint32(plug.OFNumber()) {
					out = true
				}
			}
		}
		source := fmt.Sprintf("Southbound Port_Binding %.8s (%s)", b.UUID, b.LogicalPort)
		if !into {
			found["in "+b.LogicalPort] = drift{"Port_Binding", "the flow that takes packets in", doctor.Evidence{Source: doctor.Other(source), Says: fmt.Sprintf("no flow cookie=0x%x of table 0 matches in_port=%d and does something", cookie, plug.OFNumber())}, nil, b.LogicalPort}
		}
		if !out {
			found["out "+b.LogicalPort] = drift{"Port_Binding", "the flow that delivers packets", doctor.Evidence{Source: doctor.Other(source), Says: fmt.Sprintf("no flow cookie=0x%x has the action output:%d", cookie, plug.OFNumber())}, nil, b.LogicalPort}
		}
	}
	for i := range t.all {
		f := &t.all[i]
		if term, ok := f.Match.Field("in_port"); ok && table(f) == 0 && f.Cookie == 0 && local[int(term.Port.Number)] != "" {
			found["foreign "+f.Match.String()] = drift{"", "a flow of nobody", doctor.Evidence{Source: doctor.Flows(c.Bridge).On(c.Name), Says: f.String()}, nil, local[int(term.Port.Number)]}
		}
	}
}

// neighbourDrift looks for the flow of each neighbour that a router which is here has learned.
func neighbourDrift(c *doctor.Chassis, t *flowTable, rows []sb.MACBinding, found map[string]drift) {
	keys := map[ovsdb.UUID]uint64{}
	for _, d := range c.SB.Datapaths {
		keys[d.UUID] = uint64(d.TunnelKey)
	}
	named := doctor.PortBindings(c.SB)
	for i := range rows {
		row := &rows[i]
		cookie, ok := decode.Prefix(row.UUID)
		if !ok || !t.datapath[keys[row.Datapath]] || named[row.LogicalPort] == nil || strings.Trim(row.MAC, "0:") == "" {
			continue
		}
		says, other := false, ""
		for _, f := range t.byCookie[cookie] {
			text := strings.ToLower(f.Actions.String())
			switch {
			case strings.Contains(text, strings.ToLower(row.MAC)):
				says = true
			case strings.Contains(text, "dl_dst") || strings.Contains(text, "eth_dst"):
				other = f.String()
			}
		}
		if says {
			continue
		}
		source := fmt.Sprintf("Southbound MAC_Binding %.8s", row.UUID)
		d := drift{"MAC_Binding", "", doctor.Evidence{Source: doctor.Other(source), Says: fmt.Sprintf("logical_port=%s ip=%s mac=%s, and no flow has cookie=0x%x", row.LogicalPort, row.IP, row.MAC, cookie)}, row, row.LogicalPort}
		if other != "" {
			d.seen.Says = fmt.Sprintf("mac=%s, and its flow is %s", row.MAC, other)
		}
		found["mac "+string(row.UUID)] = d
	}
}

// An expectedRow is a logical flow with what it says of the flows that are made of it.
type expectedRow struct {
	*sb.LogicalFlowBrief
	cookie uint32
	must   bool // there is one, wherever the datapath is
}

// expected are logical flows, by the cookie of the flows that are made of them.
type expected struct {
	datapaths []ovsdb.UUID // of which they are all
	rows      []expectedRow
	byCookie  map[uint32][]*sb.LogicalFlowBrief
}

func expect(rows []sb.LogicalFlowBrief, datapaths []ovsdb.UUID) *expected {
	e := &expected{datapaths, make([]expectedRow, 0, len(rows)), make(map[uint32][]*sb.LogicalFlowBrief, len(rows))}
	for i := range rows {
		r := &rows[i]
		if cookie, ok := decode.Prefix(r.UUID); ok {
			e.rows = append(e.rows, expectedRow{r, cookie, must(r)})
			e.byCookie[cookie] = append(e.byCookie[cookie], r)
		}
	}
	return e
}

// likelyFlows are those of the datapaths that the node most likely has.
func likelyFlows(c *doctor.Chassis) *expected {
	likely, err := c.Zone().LikelyFlows(c.SystemID)
	if err != nil {
		return &expected{} // who knows what it has reads again, and says why it cannot
	}
	return expect(likely.Rows, likely.Datapaths)
}

// logicalDrift holds the flows of the pipelines against the logical flows of the datapaths that are here, which likely
// may be.
func logicalDrift(c *doctor.Chassis, t *flowTable, groups []sb.LogicalDPGroup, likely *expected, found map[string]drift) error {
	if !sameRelease(c) {
		return fmt.Errorf("ovn-controller of %s is of another release than ovn-northd and need not understand all logical flows: its ports and neighbours were looked at", c.Name)
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
			return fmt.Errorf("%w; of %s ports and neighbours were looked at", err, c.Name)
		}
		likely = expect(rows, of)
	}
	l := &logicalFlows{Chassis: c, flows: t, expected: likely, here: here, members: members}
	l.compare(found)
	return nil
}

// logicalFlows are the logical flows of the datapaths that are on a node, beside its flows.
type logicalFlows struct {
	*doctor.Chassis
	*expected
	flows   *flowTable
	here    map[ovsdb.UUID]uint64
	members map[ovsdb.UUID][]ovsdb.UUID
	base    map[string]int // the first OpenFlow table of a pipeline
	stages  map[int]bool   // OpenFlow tables that are stages
	output  map[string]int // where output leads to in a pipeline
	ports   map[string]*sb.PortBindingBrief
}

func (l *logicalFlows) compare(found map[string]drift) {
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
	l.missing(found)
	l.edited(found)
}

// most is what most votes are for, of each pipeline.
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

// sameRelease says whether ovn-controller is of ovn-northd's release. In an upgrade it need not be, and then it may not
// understand a logical flow, and make nothing of it.
func sameRelease(c *doctor.Chassis) bool {
	d, err := c.Daemon("ovn-controller")
	if err != nil || d.Liveness != snapshot.Answers {
		return true // saved data: the flows were made by whoever ran then
	}
	for _, g := range c.SB.Globals {
		theirs, _, _ := strings.Cut(g.Options["northd_internal_version"], "-")
		if theirs != "" && release.Parse(theirs).Series() != release.Parse(d.Version).Series() {
			return false
		}
	}
	return true
}

// keys are the datapaths of a row that are here.
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

// missing looks for logical flows that must have flows and have none.
func (l *logicalFlows) missing(found map[string]drift) {
	for _, r := range l.rows {
		if !r.must {
			continue
		}
		has := map[uint64]bool{}
		for _, f := range l.flows.byCookie[r.cookie] {
			key, ok := metadata(f)
			if !ok { // of a form that this does not know: it may be for all
				has = nil
				break
			}
			has[key] = true
		}
		if has == nil {
			continue
		}
		for _, key := range l.keys(r.LogicalFlowBrief) {
			if !has[key] {
				found[fmt.Sprintf("lost %s %d", r.UUID, key)] = drift{"Logical_Flow", "", doctor.Evidence{
					Source: doctor.SB("Logical_Flow", doctor.Short(r.UUID)),
					Says:   fmt.Sprintf("%s table %d priority %d match %q actions %q: no flow cookie=0x%x metadata=0x%x", r.Pipeline, r.TableID, r.Priority, short(r.Match), short(r.Actions), r.cookie, key),
				}, nil, ""}
			}
		}
	}
}

func short(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

// must says whether a logical flow has a flow on every chassis that its datapath is on. Those that name ports or sets may
// have none, where the port is elsewhere or the set is empty, and so may those whose match contradicts itself.
func must(r *sb.LogicalFlowBrief) bool {
	for _, word := range []string{"inport", "outport", "is_chassis_resident", "$", "@", "^"} {
		if strings.Contains(r.Match, word) || word != "inport" && word != "outport" && strings.Contains(r.Actions, word) {
			return false
		}
	}
	// Anything but a conjunction of plain comparisons may come to nothing.
	return !strings.ContainsAny(r.Match, "|!{") || r.Match == "1"
}

// edited looks for flows of the stages that no row says, or that say otherwise than their row.
func (l *logicalFlows) edited(found map[string]drift) {
	for i := range l.flows.all {
		f := &l.flows.all[i]
		of := table(f)
		if !l.stages[of] {
			continue
		}
		rows := l.byCookie[uint32(f.Cookie)]
		switch key, ok := metadata(f); {
		case f.Cookie == 0:
			found["nobody's "+flowID(f)] = drift{"", "a flow of nobody", l.seen(f), nil, ""}
		case len(rows) == 0:
			if _, known := l.hereKey(key); ok && known {
				found["nobody's "+flowID(f)] = drift{"", "a flow of nobody", l.seen(f), nil, ""}
			}
		case !slices.ContainsFunc(rows, func(r *sb.LogicalFlowBrief) bool {
			return l.base[r.Pipeline]+r.TableID == of && r.Priority == f.Priority && l.agrees(r, f)
		}):
			where := l.seen(f)
			where.Says += fmt.Sprintf("; its row says %s table %d priority %d actions %q", rows[0].Pipeline, rows[0].TableID, rows[0].Priority, short(rows[0].Actions))
			found["edited "+flowID(f)] = drift{"Logical_Flow", "", where, nil, ""}
		}
	}
}

func flowID(f *openflow.FlowEntry) string {
	return fmt.Sprintf("%x %d %d %s", f.Cookie, table(f), f.Priority, f.Match)
}

// seen is a flow as evidence.
func (l *logicalFlows) seen(f *openflow.FlowEntry) doctor.Evidence {
	match := short(f.Match.String())
	return doctor.Evidence{
		Source: doctor.Other(fmt.Sprintf("flow of %s on %s", l.Bridge, l.Name)),
		Says:   fmt.Sprintf("cookie=0x%x table=%d priority=%d %s actions=%s", f.Cookie, table(f), f.Priority, match, short(f.Actions.String())),
	}
}

func (l *logicalFlows) hereKey(key uint64) (ovsdb.UUID, bool) {
	for id, k := range l.here {
		if k == key {
			return id, true
		}
	}
	return "", false
}

// sendsOut says whether a row's actions send packets out and do nothing else, but for naming the port.
func sendsOut(actions string) (port string, ok bool) {
	if actions == "output;" {
		return "", true
	}
	rest, named := strings.CutPrefix(actions, `outport = "`)
	port, rest, _ = strings.Cut(rest, `"; `)
	return port, named && rest == "output;"
}

// agrees says whether a flow's actions can be those of its row, as far as the plainest of them tell.
func (l *logicalFlows) agrees(r *sb.LogicalFlowBrief, f *openflow.FlowEntry) bool {
	conjunction, drop, forwards := false, len(f.Actions) == 0, false
	for _, a := range f.Actions {
		switch a.(type) {
		case openflow.Conjunction:
			conjunction = true
		case openflow.Drop:
			drop = true
		case openflow.Resubmit, openflow.Output:
			forwards = true
		}
	}
	if conjunction {
		return true // the actions are in the flow of the conjunction's id
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

// leadsTo is the table in which a flow has its packets looked up last.
func leadsTo(f *openflow.FlowEntry) (int, bool) {
	if len(f.Actions) == 0 {
		return 0, false
	}
	r, ok := f.Actions[len(f.Actions)-1].(openflow.Resubmit)
	return r.Table.Number, ok && r.Port == nil && r.Table != openflow.NoTable
}

// rightPort says whether a flow sends packets to the port that its row names, if that is the name of a port: it may be
// that of a multicast group.
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

// reportDrift reports neighbours one by one, as each has a repair of its own, and all else as one finding of the bridge.
func reportDrift(p *doctor.Pass, c *doctor.Chassis, all []drift) {
	var rest []drift
	for _, d := range all {
		if d.mac == nil {
			rest = append(rest, d)
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.Object{Kind: "MAC binding", Name: d.mac.LogicalPort + " " + d.mac.IP},
			Also:     []doctor.Object{doctor.NodeObject(c.Name), {Kind: "bridge", Name: c.Bridge, Node: c.Name}, {Kind: "port", Name: d.port}},
			Title:    fmt.Sprintf("%s does not have the flow of neighbour %s of port %s", c.Name, d.mac.IP, d.mac.LogicalPort),
			Evidence: []doctor.Evidence{d.seen},
			Cause:    "the flow was deleted or edited under ovn-controller, which believes it is there",
			Effect:   fmt.Sprintf("what routers on %s send to %s is lost", c.Name, d.mac.IP),
			Fix:      catalog.ReinstallMACBinding.With(d.mac.LogicalPort, d.mac.IP),
		})
	}
	if len(rest) == 0 {
		return
	}
	slices.SortStableFunc(rest, func(a, b drift) int { return cmp.Compare(b.row, a.row) })
	f := doctor.Finding{
		Object: doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Name},
		Also:   []doctor.Object{doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("flows of %s on %s are not what the Southbound says", c.Bridge, c.Name),
		Cause:  "flows were deleted, added or edited under ovn-controller, by hand or by another program; it believes that what it has installed is there",
		Effect: "packets take another way than the logical network says, or are lost",
		Fix:    catalog.RestartController.With(),
	}
	for i, d := range rest {
		if d.port != "" {
			f.Also = append(f.Also, doctor.Object{Kind: "port", Name: d.port})
		}
		if i < 6 {
			f.Evidence = append(f.Evidence, d.seen)
		}
	}
	if len(rest) > 6 {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Flows(c.Bridge), Says: fmt.Sprintf("and %d more", len(rest)-6)})
	}
	p.Report(f)
}
