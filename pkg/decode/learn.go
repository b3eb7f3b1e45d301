package decode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// elect returns the base of a pipeline with the most votes.
func elect(evidence []Evidence, pipeline Pipeline) (int, Vote) {
	votes, total := ballot{}, 0
	for _, e := range evidence {
		bases := map[int]bool{}
		for _, row := range e.Rows {
			if Pipeline(row.Pipeline) == pipeline && e.Seen.Table >= row.TableID {
				bases[e.Seen.Table-row.TableID] = true
			}
		}
		for base := range bases {
			votes[base]++
		}
		if len(bases) > 0 {
			total++
		}
	}
	if total == 0 {
		return 0, Vote{}
	}
	best := votes.winner()
	return best, Vote{votes[best], total - votes[best]}
}

// A ballot counts votes for tables.
type ballot map[int]int

// winner returns the table with the most votes, on a tie the lowest.
func (b ballot) winner() int {
	return slices.MaxFunc(slices.Sorted(maps.Keys(b)), func(x, y int) int { return cmp.Compare(b[x], b[y]) })
}

// learnStage stores the name of the row's stage.
func (c *Calibration) learnStage(row sb.LogicalFlowNames) {
	stage := row.ExternalIDs["stage-name"]
	if kind, pipeline, ok := stageOf(stage); ok && pipeline == Pipeline(row.Pipeline) {
		c.stages[stageKey{kind, pipeline, row.TableID}] = stage
	}
}

// learnOutput learns the output tables: where `output;` of either pipeline goes, and the chain of default flows from
// there.
func (c *Calibration) learnOutput(evidence []Evidence) {
	outputs := map[Pipeline]ballot{Ingress: {}, Egress: {}}
	next := map[int]int{}
	for _, e := range evidence {
		if len(e.Seen.Resubmits) == 0 {
			continue
		}
		last := e.Seen.Resubmits[len(e.Seen.Resubmits)-1]
		if e.Seen.Cookie == 0 && e.Seen.Priority == 0 {
			next[e.Seen.Table] = last
		}
		if len(e.Rows) == 1 && strings.HasSuffix(strings.TrimSpace(e.Rows[0].Actions), "output;") {
			if votes := outputs[Pipeline(e.Rows[0].Pipeline)]; votes != nil {
				votes[last]++
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(next)) {
		if c.egress != 0 && next[of] == c.egress && of < c.egress {
			c.tables[release.CheckLoopback] = of
		}
	}
	if votes := outputs[Egress]; len(votes) > 0 {
		of := votes.winner()
		c.tables[release.SaveInport] = of
		if to, ok := next[of]; ok {
			c.tables[release.LogToPhy] = to
		}
	}
	if votes := outputs[Ingress]; len(votes) > 0 {
		c.followOutput(votes.winner(), next)
	}
}

// followOutput names the tables along the default flows from first, the entry of output, to LOCAL_OUTPUT, which drops
// by default. The one table skipped on that path is LARGE_PKT_PROCESS; the table before it is the detecting one, the
// one after it REMOTE_OUTPUT. REMOTE_VTEP_OUTPUT, if present, lies between remote and local. A chain with a missing
// link is left to the profile.
func (c *Calibration) followOutput(first int, next map[int]int) {
	c.tables[release.OutputInit] = first
	chain := []int{first}
	for of := first; ; {
		to, ok := next[of]
		if !ok || to <= of {
			break
		}
		of = to
		chain = append(chain, of)
	}
	loopback, ok := c.tables[release.CheckLoopback]
	if local := chain[len(chain)-1]; !ok || len(chain) < 2 || local+1 != loopback {
		return
	}
	remote := 0
	for i, of := range chain[:len(chain)-1] {
		if chain[i+1] == of+2 {
			c.tables[release.DetectLargePkt], c.tables[release.ProcessLargePkt], remote = of, of+1, i+1
			break
		}
	}
	if remote > 1 || remote == 0 && len(chain) > 2 {
		c.tables[release.OutputInit] = first
	} else {
		delete(c.tables, release.OutputInit)
	}
	rest := chain[remote:]
	c.tables[release.RemoteOutput], c.tables[release.LocalOutput] = rest[0], rest[len(rest)-1]
	if len(rest) == 3 {
		c.tables[release.RemoteVTEP] = rest[1]
	}
}

// adopt fills what the flows left open from a layout, and notes which.
func (c *Calibration) adopt(v release.Version) {
	layout, known := release.LayoutOf(v)
	name := v.String()
	if layout != nil && !known {
		name = layout.Span() + ", a guess for " + v.String()
	}
	var tables map[release.PhysicalTable]int
	if layout != nil {
		tables = layout.Tables(v)
	}
	derived := c.ingress != 0 || c.egress != 0
	doubt := ""
	if derived && (layout == nil || c.contradicts(tables, layout.Egress)) {
		if layout != nil {
			doubt = "; they are not those of " + name
		}
		if layout, tables = c.agreeing(), nil; layout != nil {
			tables, name = layout.All(), layout.Span()
		}
	}
	filled := 0
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		if _, ok := c.tables[table]; ok {
			continue
		}
		c.tables[table] = tables[table]
		filled++
	}
	// Only one release has a separate name for the entry of output.
	if init, ok := c.tables[release.OutputInit]; ok && (init == c.tables[release.DetectLargePkt] || init == c.tables[release.RemoteOutput]) {
		delete(c.tables, release.OutputInit)
	}
	if layout != nil {
		c.ingress, c.egress = cmp.Or(c.ingress, release.IngressBase), cmp.Or(c.egress, layout.Egress)
	}
	switch {
	case derived && filled > 0:
		c.source = fmt.Sprintf("derived from %d flows%s; other tables as in %s", c.flows, doubt, name)
	case derived:
		c.source = fmt.Sprintf("derived from %d flows%s", c.flows, doubt)
	case layout != nil:
		c.source = "profile " + name
	}
}

// contradicts reports whether a profile disagrees with the flows.
func (c *Calibration) contradicts(tables map[release.PhysicalTable]int, egress int) bool {
	if c.ingress != 0 && c.ingress != release.IngressBase || c.egress != 0 && c.egress != egress {
		return true
	}
	for table, of := range c.tables {
		want, ok := tables[table]
		if table == release.OutputInit && !ok {
			want, ok = tables[release.DetectLargePkt], tables[release.DetectLargePkt] != 0
			if !ok {
				want, ok = tables[release.RemoteOutput], true
			}
		}
		if ok && want != of {
			return true
		}
	}
	return false
}

// agreeing returns the layout that agrees with the flows, if exactly one does; helper tables have the same numbers in
// all of them.
func (c *Calibration) agreeing() *release.Layout {
	var found []*release.Layout
	for i := range release.Layouts {
		if l := &release.Layouts[i]; !c.contradicts(l.All(), l.Egress) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) == 0 && !c.contradicts(release.Next.All(), release.Next.Egress):
		return &release.Next
	}
	return nil
}

// calls maps each lookup action of logical flows to the table it uses.
var calls = lazy.Value[map[string]release.PhysicalTable]{Make: func() map[string]release.PhysicalTable {
	return map[string]release.PhysicalTable{
		"get_arp(": release.MACBinding, "get_nd(": release.MACBinding,
		"lookup_arp(": release.MACLookup, "lookup_nd(": release.MACLookup, "lookup_arp_ip(": release.MACLookup, "lookup_nd_ip(": release.MACLookup,
		"chk_lb_hairpin(": release.ChkLBHairpin, "chk_lb_hairpin_reply(": release.ChkLBReply, "ct_snat_to_vip": release.CtSNATHairpin,
		"get_fdb(": release.GetFDB, "lookup_fdb(": release.LookupFDB,
		"check_in_port_sec(": release.InPortSec, "check_out_port_sec(": release.OutPortSec,
		"chk_ecmp_nh_mac(": release.ECMPNextHopMAC, "chk_ecmp_nh(": release.ECMPNextHop,
		"chk_lb_aff(": release.ChkLBAffinity, "mac_cache_use": release.MACCacheUse,
		"ct_nw_dst()": release.CtOrigNW, "ct_ip6_dst()": release.CtOrigIP6, "ct_tp_dst()": release.CtOrigTP, "ct_proto()": release.CtOrigProto,
		"ct_state_save()": release.CtStateSave, "flood_remote": release.FloodRemote,
		"get_remote_fdb(": release.GetRemoteFDB, "chk_evpn_arp(": release.EVPNARPLookup,
	}
}}

// learnHelpers learns the lookup tables. In a flow with as many lookups as resubmits to tables after LOG_TO_PHY, both
// are in the same order.
func (c *Calibration) learnHelpers(evidence []Evidence) {
	last, ok := c.tables[release.LogToPhy]
	if !ok {
		return
	}
	heard := map[release.PhysicalTable]ballot{}
	vote := func(table release.PhysicalTable, of int) {
		if heard[table] == nil {
			heard[table] = ballot{}
		}
		heard[table][of]++
	}
	for _, e := range evidence {
		if len(e.Rows) != 1 {
			continue
		}
		targets := slices.DeleteFunc(slices.Clone(e.Seen.Resubmits), func(of int) bool { return of <= last })
		if lookups := lookupsOf(e.Rows[0].Actions); len(lookups) == len(targets) {
			for i, table := range lookups {
				vote(table, targets[i])
			}
		}
	}
	for table, votes := range heard {
		c.tables[table] = votes.winner()
	}
}

// lookupsOf returns the tables that logical actions do lookups in, in the order of the actions.
func lookupsOf(actions string) []release.PhysicalTable {
	at := map[int]release.PhysicalTable{}
	for call, table := range calls.Get() {
		for from := 0; ; {
			i := strings.Index(actions[from:], call)
			if i < 0 {
				break
			}
			at[from+i] = table
			from += i + len(call)
		}
	}
	var tables []release.PhysicalTable
	for _, i := range slices.Sorted(maps.Keys(at)) {
		tables = append(tables, at[i])
	}
	return tables
}
