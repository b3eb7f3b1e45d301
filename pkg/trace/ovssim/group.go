package ovssim

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A group is a group with its buckets, ready to execute.
type group struct {
	openflow.GroupEntry
	buckets []bucket
	slots   []int // for a select group by dp_hash: buckets by the low bits of the hash
	fields  []hashField
}

type bucket struct {
	openflow.Bucket
	id  uint32
	ops []op
}

// A hashField is a field that a select group hashes.
type hashField struct {
	field *packet.Field
	mask  packet.Value
}

func newGroup(e openflow.GroupEntry) *group {
	g := &group{GroupEntry: e}
	for i, b := range e.Buckets {
		id := uint32(i)
		if b.ID >= 0 {
			id = uint32(b.ID)
		}
		g.buckets = append(g.buckets, bucket{b, id, ordered(compile(b.Actions))})
	}
	if e.Type == "select" && e.Method != "hash" {
		g.slots = hashSlots(e.Buckets)
	}
	for name := range strings.SplitSeq(e.Fields, ",") {
		name, text, masked := strings.Cut(name, "=")
		f, ok := packet.Lookup(name)
		if !ok {
			continue
		}
		mask := f.Mask()
		if masked {
			mask, _, _ = f.ParseValue(text)
		}
		g.fields = append(g.fields, hashField{f, mask})
	}
	return g
}

// mostSlots is the maximum number of dp_hash values spread over buckets.
const mostSlots = 256

// hashSlots spreads values of dp_hash over buckets by weight, with Webster's method like Open vSwitch; nil if there
// would be too many.
func hashSlots(buckets []openflow.Bucket) []int {
	const fewest = 16
	total, least := 0, 0
	weights := make([]int, len(buckets))
	for i, b := range buckets {
		weights[i] = b.Weight
		if b.Weight < 0 {
			weights[i] = 1
		}
		total += weights[i]
		if weights[i] > 0 && (least == 0 || weights[i] < least) {
			least = weights[i]
		}
	}
	if total == 0 {
		return nil
	}
	n := max(fewest, 1<<bits.Len(uint((total+least-1)/least-1)))
	if n > mostSlots {
		return nil
	}
	slots := make([]int, n)
	share := make([]float64, len(buckets))
	divisor := make([]int, len(buckets))
	for i, w := range weights {
		share[i], divisor[i] = float64(w), 1
	}
	for slot := range slots {
		winner := 0
		for i := range share {
			if share[i] > share[winner] {
				winner = i
			}
		}
		slots[slot] = winner
		divisor[winner] += 2
		share[winner] = float64(weights[winner]) / float64(divisor[winner])
	}
	return slots
}

// group sends the packet to a group, and reports whether the actions after it are executed.
func (x *translation) group(id uint32, last bool) bool {
	if !x.within() {
		return true
	}
	g := x.bridge.groups[id]
	if g == nil {
		x.warn("output to nonexistent group %d", id)
		return false
	}
	switch g.Type {
	case "all", "indirect":
		for i := range g.buckets {
			x.bucket(&g.buckets[i], last && i == len(g.buckets)-1)
		}
		return true
	}
	b := x.choose(g)
	if b == nil && x.hash != "" && x.sw.explains {
		x.detail("selection method in use: dp_hash, recirculating")
		return true
	}
	if b == nil {
		x.detail("no live bucket")
		return true
	}
	x.detail("using bucket %d", b.id)
	x.bucket(b, last)
	return true
}

func (x *translation) choose(g *group) *bucket {
	switch {
	case g.Type != "select":
		return x.firstLive(g, 0)
	case x.wasMPLS:
		x.freeze()
		return nil
	case g.slots != nil:
		return x.byDatapathHash(g)
	}
	return x.byFields(g)
}

// byDatapathHash chooses by a hash that the datapath computes: a packet without one comes back with it.
func (x *translation) byDatapathHash(g *group) *bucket {
	hash := x.packet.number(dpHash)
	if hash == 0 {
		x.freeze()
		x.hash = fmt.Sprintf("hash(%s(%d))", x.hashAlgorithm(g), uint32(g.Param))
		return nil
	}
	last := uint64(len(g.slots) - 1)
	x.touch(dpHash, packet.Uint(last))
	for i := range g.slots {
		if b := &g.buckets[g.slots[(hash+uint64(i))&last]]; x.alive(b, 0) {
			return b
		}
	}
	return nil
}

// hashAlgorithm returns the datapath's hash algorithm: the group's, or the first, which all have.
func (x *translation) hashAlgorithm(g *group) string {
	if x.bridge.can.hash > 0 && (g.Method == "" || g.Param>>32 == 1) {
		return "sym_l4"
	}
	return "l4"
}

// byFields chooses by a hash of some fields, or of the packet's addresses if the group names none.
func (x *translation) byFields(g *group) *bucket {
	if g.Method != "hash" || len(g.fields) == 0 {
		x.touchHashed("symmetric_l4")
		return x.best(g, x.packet.hash("symmetric_l4", 0))
	}
	basis := hashFinish(hashAdd(hashAdd(0, uint32(g.Param)), uint32(g.Param>>32)), 8)
	for _, f := range g.fields {
		if !x.packet.Meets(f.field.Needs) {
			continue
		}
		x.touch(f.field, f.mask)
		basis = hashBytes(x.packet.Get(f.field).And(f.mask).Bytes((f.field.Bits+7)/8), basis)
	}
	return x.best(g, basis)
}

// best chooses the live bucket with the highest score.
func (x *translation) best(g *group, basis uint32) *bucket {
	var best *bucket
	score := uint32(0)
	for i := range g.buckets {
		b := &g.buckets[i]
		if b.Weight == 0 || !x.alive(b, 0) {
			x.dead(b)
			continue
		}
		weight := uint32(1)
		if b.Weight >= 0 {
			weight = uint32(b.Weight)
		}
		s := (hashWords(b.id, basis) & 0xffff) * weight
		if s >= score {
			best, score = b, s
		}
		x.detail("bucket %d: score %d", b.id, s)
	}
	return best
}

// maxChain bounds the chain of groups that watch each other.
const maxChain = 128

func (x *translation) firstLive(g *group, depth int) *bucket {
	for i := range g.buckets {
		if x.alive(&g.buckets[i], depth) {
			return &g.buckets[i]
		}
		x.dead(&g.buckets[i])
	}
	return nil
}

// dead reports a bucket that is not live, in Open vSwitch's words.
func (x *translation) dead(b *bucket) {
	var due []string
	if b.Watch {
		due = append(due, "port "+packet.PortID{Number: b.WatchPort.Number}.String())
	}
	if b.WatchGroup != 0 {
		due = append(due, fmt.Sprintf("port %d", b.WatchGroup))
	}
	x.detail("bucket %d: not live due to %s", b.id, strings.Join(due, " and "))
}

func (x *translation) alive(b *bucket, depth int) bool {
	switch {
	case depth >= maxChain:
		x.fault("bucket chaining exceeded %d links", maxChain)
		return false
	case !b.Watch && b.WatchGroup == 0, b.WatchPort.Number == packet.PortAny && b.WatchGroup == 0:
		return true
	}
	if b.Watch && b.WatchPort.Number == packet.PortController {
		return true
	}
	if p := x.bridge.find(b.WatchPort); b.Watch && p != nil && p.live {
		return true
	}
	g := x.bridge.groups[b.WatchGroup]
	return b.WatchGroup != 0 && g != nil && x.firstLive(g, depth+1) != nil
}

// bucket executes the actions of a bucket on a copy of the packet.
func (x *translation) bucket(b *bucket, last bool) {
	node := x.report(openflow.NodeBucket, fmt.Sprintf("bucket %d", b.id))
	packet, mpls := x.packet, x.wasMPLS
	x.below(node, func() {
		x.depth++
		x.do(b.ops, last, true)
		x.depth--
		if x.freezing {
			x.finish()
		}
	})
	x.packet, x.wasMPLS, x.exit = packet, mpls, false
}
