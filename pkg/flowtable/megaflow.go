package flowtable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// A Megaflow is an entry of the datapath's cache with its names, rate and rules.
type Megaflow struct {
	openflow.DatapathFlow
	Match   decode.NamedText // the fields examined
	Mask    []string         // their names
	Actions decode.NamedText
	Rate    float64    // packets per second between two dumps; see [MegaflowRates]
	Rules   []FlowRule // that it came from, in the order hit
	Unknown string     // why there are none
}

// ParseMegaflows parses the output of dpctl/dump-flows -m, and counts the masks.
func ParseMegaflows(ctx context.Context, dump string, n *decode.Namer) (flows []Megaflow, masks int) {
	shapes := map[string]bool{}
	for line := range strings.Lines(dump) {
		f, err := openflow.ParseDatapathFlow(line)
		if err != nil {
			continue
		}
		m := Megaflow{DatapathFlow: f}
		key, mask := matched(f.Key)
		for _, attr := range key {
			m.Mask = append(m.Mask, attr.Name)
		}
		shapes[mask] = true
		m.Match, m.Actions = n.NamedMegaflow(ctx, key, f.Actions)
		flows = append(flows, m)
	}
	return flows, len(shapes)
}

// matched returns the attributes of a key with an examined bit, and the mask as text: equal for megaflows of one mask.
func matched(key openflow.Attrs) (openflow.Attrs, string) {
	var out openflow.Attrs
	var shape strings.Builder
	for _, a := range key {
		before := shape.Len()
		if wild(a, &shape) {
			continue
		}
		if shape.Len() > before && a.List != nil {
			a.List = slices.DeleteFunc(slices.Clone(a.List), func(part openflow.Attr) bool { return wild(part, new(strings.Builder)) })
		}
		if a.Name == "packet_type" && a.List.Value("ns") == "0" && a.List.Value("id") == "0" {
			continue // Ethernet, nearly always
		}
		out = append(out, a)
	}
	return out, shape.String()
}

// wild reports whether no bit of an attribute is examined; otherwise its name and mask are written to shape.
func wild(a openflow.Attr, shape *strings.Builder) bool {
	if a.List == nil {
		_, mask, masked := strings.Cut(a.Value+a.Rest, "/")
		if masked && strings.Trim(mask, "0x.:") == "" {
			return true
		}
		shape.WriteString(a.Name + "/" + mask + ",")
		return false
	}
	all := true
	shape.WriteString(a.Name + "(")
	for _, part := range a.List {
		if !wild(part, shape) {
			all = false
		}
	}
	shape.WriteString(")" + a.Rest)
	return all
}

// RulesOf returns the flows that matched in a trace of a megaflow's own packet, up to its recirculation: what follows
// belongs to another megaflow.
func RulesOf(ctx context.Context, reply string, n *decode.Namer) ([]FlowRule, error) {
	t, err := openflow.ParseTrace(reply)
	if err != nil || len(t.Passes) == 0 {
		return nil, err
	}
	for _, pass := range t.Passes {
		for _, s := range stepsOf(pass.Roots, "") {
			if seen := decode.SeenInStep(s.Step); seen.Cookie != 0 && seen.Metadata != 0 {
				n.Learn(seen)
			}
		}
	}
	n.Recalibrate(ctx)
	var rules []FlowRule
	for _, s := range stepsOf(t.Passes[0].Roots, "") {
		rule := FlowRule{Bridge: s.bridge, Table: s.Table, Priority: s.Priority, Match: s.MatchText}
		if s.Cookie != 0 {
			rule.Cookie = fmt.Sprintf("0x%08x", s.Cookie)
		}
		if f := n.Step(ctx, s.bridge, s.Step); f != nil {
			rule.Stage, rule.For = f.StageName(), f.For()
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// A bridgeStep is a trace step that found a flow in a bridge.
type bridgeStep struct {
	*openflow.Step
	bridge string
}

func stepsOf(nodes []*openflow.Node, bridge string) []bridgeStep {
	var steps []bridgeStep
	for _, n := range nodes {
		in := bridge
		if n.Kind == openflow.NodeBridge {
			in = n.Bridge
		}
		if s := n.Step; s != nil && s.Miss == openflow.Hit {
			steps = append(steps, bridgeStep{s, in})
		}
		steps = append(steps, stepsOf(n.Children, in)...)
	}
	return steps
}

// OrderMegaflows sorts megaflows by "packets", "bytes", "rate" or "idle".
func OrderMegaflows(flows []Megaflow, by string) {
	slices.SortStableFunc(flows, func(a, b Megaflow) int {
		first := cmp.Compare(b.Packets, a.Packets)
		switch by {
		case "bytes":
			first = cmp.Compare(b.Bytes, a.Bytes)
		case "rate":
			first = cmp.Compare(b.Rate, a.Rate)
		case "idle":
			first = cmp.Compare(uint64(a.Used), uint64(b.Used)) // never is last
		}
		return cmp.Or(first, cmp.Compare(a.Match.Text, b.Match.Text))
	})
}

// MegaflowRates sets the rate of each megaflow that was also in an earlier dump.
func MegaflowRates(before, now []Megaflow, elapsed time.Duration) {
	rates(before, now, elapsed, (*Megaflow).id, func(m *Megaflow) (uint64, *float64) { return m.Packets, &m.Rate })
}

func (m *Megaflow) id() string { return cmp.Or(m.UFID, m.Match.Text) }

// JSON converts the megaflow to its contract; rated: there was an earlier dump.
func (m *Megaflow) JSON(rated bool) MegaflowRow {
	row := MegaflowRow{
		UFID: m.UFID, Match: m.Match.Text, DecodedMatch: m.Match.String(), Mask: append([]string{}, m.Mask...),
		Actions: m.Actions.Text, DecodedActions: m.Actions.String(), Packets: m.Packets, Bytes: m.Bytes,
		Flags: m.Flags, Rules: append([]FlowRule{}, m.Rules...), Unknown: m.Unknown,
	}
	if m.Used >= 0 {
		used := m.Used.Seconds()
		row.Used = &used
	}
	if rated {
		row.Rate = &m.Rate
	}
	return row
}

// Stats parses the cache's performance from the output of dpctl/show, upcall/show and, for a userspace datapath,
// dpif-netdev/pmd-stats-show; any may be empty. masks are those of the dump, for a datapath that does not count them.
func Stats(show, upcall, pmd string, masks int) CacheStats {
	s := CacheStats{Masks: masks}
	for line := range strings.Lines(show) {
		text := strings.TrimSpace(line)
		switch key, value, _ := strings.Cut(text, ":"); {
		case s.Datapath == "" && !strings.HasPrefix(line, " ") && strings.HasSuffix(text, ":"):
			s.Datapath = strings.TrimSuffix(text, ":")
		case key == "lookups" && s.Hits == 0:
			s.Hits, s.Missed, s.Lost = counter(value, "hit:"), counter(value, "missed:"), counter(value, "lost:")
		case key == "flows" && s.Flows == 0:
			s.Flows, _ = strconv.Atoi(strings.TrimSpace(value))
		case key == "masks":
			s.Masks = int(counter(value, "total:"))
			s.PerPacket = decimal(value, "hit/pkt:")
		}
	}
	if _, rest, ok := strings.Cut(upcall, "(limit "); ok {
		number, _, _ := strings.Cut(rest, ")")
		if limit, err := strconv.Atoi(number); err == nil {
			s.FlowLimit = &limit
		}
	}
	for line := range strings.Lines(pmd) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "avg. subtable lookups per megaflow hit":
			s.PerPacket = decimal(value, "")
		case "miss with failed upcall":
			s.Lost = max(s.Lost, counter(value, ""))
		}
	}
	if all := s.Hits + s.Missed; all > 0 {
		rate := float64(s.Hits) / float64(all)
		s.HitRate = &rate
	}
	return s
}

// counter returns the number after a word.
func counter(text, word string) uint64 {
	_, rest, ok := strings.Cut(" "+text, " "+word)
	if !ok {
		return 0
	}
	rest = strings.TrimSpace(rest)
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, _ := strconv.ParseUint(rest[:end], 10, 64)
	return n
}

func decimal(text, word string) *float64 {
	_, rest, ok := strings.Cut(" "+text, " "+word)
	if !ok {
		return nil
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return nil
	}
	n, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return nil
	}
	return &n
}

// Trouble returns the cache's problems, in words.
func (s CacheStats) Trouble() []string {
	var words []string
	if s.FlowLimit != nil && *s.FlowLimit > 0 && s.Flows*10 >= *s.FlowLimit*9 {
		words = append(words, fmt.Sprintf("the cache is full: %d megaflows of at most %d; ovs-vswitchd evicts some that are in use", s.Flows, *s.FlowLimit))
	}
	if s.Lost > 0 {
		words = append(words, fmt.Sprintf("%d packets were lost: ovs-vswitchd could not keep up with packets that missed the cache", s.Lost))
	}
	const few = 0.9 // fraction of packets that hit an entry, below which a busy cache thrashes
	if s.HitRate != nil && *s.HitRate < few && s.Hits+s.Missed >= 10000 {
		words = append(words, fmt.Sprintf("the cache thrashes: only %.0f %% of the packets hit it; --watch shows which megaflows come and go", *s.HitRate*100))
	}
	const many = 50 // masks a packet is compared with
	if s.PerPacket != nil && *s.PerPacket > many {
		words = append(words, fmt.Sprintf("a packet is compared with %.0f masks on average: flows that match on many different fields slow the cache down", *s.PerPacket))
	}
	return words
}
