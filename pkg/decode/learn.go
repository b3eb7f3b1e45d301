package decode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/sb"
)

// elect returns the base of a pipeline that most flows speak for.
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

// winner returns the table with most votes, the lowest of several.
func (b ballot) winner() int {
	return slices.MaxFunc(slices.Sorted(maps.Keys(b)), func(x, y int) int { return cmp.Compare(b[x], b[y]) })
}

// learnStage remembers the name of the row's stage.
func (c *Calibration) learnStage(row sb.LogicalFlowNames) {
	stage := row.ExternalIDs["stage-name"]
	if kind, pipeline, ok := StageOf(stage); ok && pipeline == Pipeline(row.Pipeline) {
		c.stages[stageKey{kind, pipeline, row.TableID}] = stage
	}
}

// learnOutput learns the output tables: where `output;` of either pipeline
// goes, and from there the chain of default flows.
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
			c.tables[CheckLoopback] = of
		}
	}
	if votes := outputs[Egress]; len(votes) > 0 {
		of := votes.winner()
		c.tables[SaveInport] = of
		if to, ok := next[of]; ok {
			c.tables[LogToPhy] = to
		}
	}
	if votes := outputs[Ingress]; len(votes) > 0 {
		c.followOutput(votes.winner(), next)
	}
}

// followOutput names the tables on the way of the default flows from first, the
// entry of output, to LOCAL_OUTPUT, which drops by default. The one table left
// out on that way is LARGE_PKT_PROCESS; the table before it detects, the one
// behind it is REMOTE_OUTPUT. REMOTE_VTEP_OUTPUT, where there is one, lies
// between remote and local. A chain with a missing link is left to the profile.
func (c *Calibration) followOutput(first int, next map[int]int) {
	c.tables[OutputInit] = first
	chain := []int{first}
	for of := first; ; {
		to, ok := next[of]
		if !ok || to <= of {
			break
		}
		of = to
		chain = append(chain, of)
	}
	loopback, ok := c.tables[CheckLoopback]
	if local := chain[len(chain)-1]; !ok || len(chain) < 2 || local+1 != loopback {
		return
	}
	remote := 0
	for i, of := range chain[:len(chain)-1] {
		if chain[i+1] == of+2 {
			c.tables[DetectLargePkt], c.tables[ProcessLargePkt], remote = of, of+1, i+1
			break
		}
	}
	if remote > 1 || remote == 0 && len(chain) > 2 {
		c.tables[OutputInit] = first
	} else {
		delete(c.tables, OutputInit)
	}
	rest := chain[remote:]
	c.tables[RemoteOutput], c.tables[LocalOutput] = rest[0], rest[len(rest)-1]
	if len(rest) == 3 {
		c.tables[RemoteVTEP] = rest[1]
	}
}

// adopt fills in from a profile what the flows left open, and says so.
func (c *Calibration) adopt(v Version) {
	tables, egress, known := profile(v)
	name := v.String()
	if tables != nil && !known {
		name = "what follows 26.03, a guess for " + v.String()
	}
	derived := c.ingress != 0 || c.egress != 0
	doubt := ""
	if derived && (tables == nil || c.contradicts(tables, egress)) {
		if tables != nil {
			doubt = "; they are not those of " + name
		}
		tables, egress, name = c.agreeing()
	}
	filled := 0
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		if _, ok := c.tables[table]; ok {
			continue
		}
		c.tables[table] = tables[table]
		filled++
	}
	// The entry of output has a name of its own in one release only.
	if init, ok := c.tables[OutputInit]; ok && (init == c.tables[DetectLargePkt] || init == c.tables[RemoteOutput]) {
		delete(c.tables, OutputInit)
	}
	if tables != nil {
		c.ingress, c.egress = cmp.Or(c.ingress, ingressBase), cmp.Or(c.egress, egress)
	}
	switch {
	case derived && filled > 0:
		c.source = fmt.Sprintf("derived from %d flows%s; other tables as in %s", c.flows, doubt, name)
	case derived:
		c.source = fmt.Sprintf("derived from %d flows%s", c.flows, doubt)
	case tables != nil:
		c.source = "profile " + name
	}
}

// contradicts reports whether a profile says otherwise than the flows.
func (c *Calibration) contradicts(tables map[PhysicalTable]int, egress int) bool {
	if c.ingress != 0 && c.ingress != ingressBase || c.egress != 0 && c.egress != egress {
		return true
	}
	for table, of := range c.tables {
		want, ok := tables[table]
		if table == OutputInit && !ok {
			want, ok = tables[DetectLargePkt], tables[DetectLargePkt] != 0
			if !ok {
				want, ok = tables[RemoteOutput], true
			}
		}
		if ok && want != of {
			return true
		}
	}
	return false
}

// agreeing returns the one layout that agrees with the flows, if there is just
// one; helper tables have kept their numbers over all of them.
func (c *Calibration) agreeing() (map[PhysicalTable]int, int, string) {
	var found []layout
	for _, l := range layouts {
		if !c.contradicts(l.tables(newest, 0), l.egress) {
			found = append(found, l)
		}
	}
	if len(found) == 1 {
		return found[0].tables(newest, 0), found[0].egress, found[0].span()
	}
	if tables := next.tables(Version{26, 9, 0}, nextShift); len(found) == 0 && !c.contradicts(tables, next.egress) {
		return tables, next.egress, "what follows 26.03"
	}
	return nil, 0, ""
}

// calls names the table that each looking-up logical action goes to.
var calls = map[string]PhysicalTable{
	"get_arp(": MACBinding, "get_nd(": MACBinding,
	"lookup_arp(": MACLookup, "lookup_nd(": MACLookup, "lookup_arp_ip(": MACLookup, "lookup_nd_ip(": MACLookup,
	"chk_lb_hairpin(": ChkLBHairpin, "chk_lb_hairpin_reply(": ChkLBReply, "ct_snat_to_vip": CtSNATHairpin,
	"get_fdb(": GetFDB, "lookup_fdb(": LookupFDB,
	"check_in_port_sec(": InPortSec, "check_out_port_sec(": OutPortSec,
	"chk_ecmp_nh_mac(": ECMPNextHopMAC, "chk_ecmp_nh(": ECMPNextHop,
	"chk_lb_aff(": ChkLBAffinity, "mac_cache_use": MACCacheUse,
	"ct_nw_dst()": CtOrigNW, "ct_ip6_dst()": CtOrigIP6, "ct_tp_dst()": CtOrigTP, "ct_proto()": CtOrigProto,
	"ct_state_save()": CtStateSave, "flood_remote": FloodRemote,
	"get_remote_fdb(": GetRemoteFDB, "chk_evpn_arp(": EVPNARPLookup,
}

// learnHelpers learns the tables of lookups. Of a flow that looks up as often
// as it resubmits to a table behind LOG_TO_PHY, both are in the same order.
func (c *Calibration) learnHelpers(evidence []Evidence) {
	last, ok := c.tables[LogToPhy]
	if !ok {
		return
	}
	heard := map[PhysicalTable]ballot{}
	vote := func(table PhysicalTable, of int) {
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

// lookupsOf returns the tables that logical actions look things up in, in the
// order of the actions.
func lookupsOf(actions string) []PhysicalTable {
	at := map[int]PhysicalTable{}
	for call, table := range calls {
		for from := 0; ; {
			i := strings.Index(actions[from:], call)
			if i < 0 {
				break
			}
			at[from+i] = table
			from += i + len(call)
		}
	}
	var tables []PhysicalTable
	for _, i := range slices.Sorted(maps.Keys(at)) {
		tables = append(tables, at[i])
	}
	return tables
}
