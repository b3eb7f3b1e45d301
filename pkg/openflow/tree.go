package openflow

import (
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A tree nests the lines of a trace.
//
// Open vSwitch indents a list of lines at level n as follows, a level being four columns. Actions, details and lookups
// followed by something are at n+1, and the lines below such a lookup are a list at level n+2. The last lookup of a
// list is at n, and the lines below it continue at level n, so that a long chain of resubmits does not drift to the
// right. So an odd level is an entry of the list one to the left, and an even one replaces the list at its own level
// with a longer one.
type tree struct {
	open  []openList // by rising level
	chain int        // how many lists were extended
}

type openList struct {
	level int
	nodes *[]*Node
}

// Bounds on the tree's depth: resubmits nest 64 deep, at most 4096 in a pass.
const (
	maxLevel = 512
	maxChain = 1 << 14
)

func newTree(roots *[]*Node) tree {
	return tree{open: []openList{{0, roots}}}
}

func (t *tree) add(line string) {
	text := strings.TrimLeft(line, " ")
	if strings.Trim(text, "-") == "" {
		return // the line below a bridge's name
	}
	level := min((len(line)-len(text))/4, maxLevel)
	node := newNode(text)
	if level%2 == 1 {
		t.closeAbove(level - 1)
		t.append(node)
		if node.opens() {
			t.open = append(t.open, openList{level + 1, &node.Children})
		}
		return
	}
	t.closeAbove(level)
	t.append(node)
	if t.chain++; node.opens() && t.chain < maxChain {
		t.open[len(t.open)-1].nodes = &node.Children
	}
}

func (t *tree) closeAbove(level int) {
	for len(t.open) > 1 && t.open[len(t.open)-1].level > level {
		t.open = t.open[:len(t.open)-1]
	}
}

func (t *tree) append(n *Node) {
	list := t.open[len(t.open)-1].nodes
	*list = append(*list, n)
}

// opens reports whether lines may hang below the node.
func (n *Node) opens() bool {
	switch n.Kind {
	case NodeBridge, NodeTable, NodeThaw, NodeBucket:
		return true
	}
	return false
}

func newNode(text string) *Node {
	n := &Node{Text: text, Table: -1}
	switch {
	case strings.HasPrefix(text, "-> "):
		n.Kind, n.Text = NodeDetail, text[3:]
	case strings.HasPrefix(text, ">>>> "):
		n.Kind, n.Text = NodeError, strings.TrimSuffix(text[5:], " <<<<")
	case strings.HasPrefix(text, ">> "):
		n.Kind, n.Text = NodeWarning, text[3:]
	case strings.HasPrefix(text, "bridge("):
		n.Kind = NodeBridge
		name := strings.TrimSuffix(text[len("bridge("):], ")")
		if unquoted, err := packet.UnquoteName(name); err == nil {
			name = unquoted
		}
		n.Bridge = name
	case text == "thaw":
		n.Kind = NodeThaw
	case strings.HasPrefix(text, "Resuming from table "):
		n.Kind = NodeThaw
		if table, err := strconv.ParseUint(text[len("Resuming from table "):], 10, 8); err == nil {
			n.Table = int(table)
		}
	case text == "...":
		n.Kind = NodeElided
	case strings.HasPrefix(text, "--. "):
		n.Kind, n.Text = NodeTable, text[4:]
	case bucketLine(text):
		n.Kind = NodeBucket
	default:
		n.lookupOrAction()
	}
	return n
}

func bucketLine(text string) bool {
	rest, ok := strings.CutPrefix(text, "bucket ")
	rest = strings.TrimRight(rest, ":0123456789")
	return ok && rest == ""
}

func (n *Node) lookupOrAction() {
	number, rest, ok := strings.Cut(n.Text, ". ")
	if table, err := strconv.ParseUint(number, 10, 8); ok && err == nil {
		n.Kind = NodeTable
		n.Step = newStep(int(table), rest)
		return
	}
	n.Kind = NodeAction
	if a, err := ParseAction(n.Text); err == nil {
		n.Action = a
	}
}

func newStep(table int, text string) *Step {
	s := &Step{Table: table}
	i := strings.LastIndex(text, "priority ")
	if i < 0 || i > 0 && text[i-1] != ' ' {
		s.MatchText = text
		switch {
		case strings.HasPrefix(text, "No match, and"):
			s.Miss = MissController
		case strings.HasPrefix(text, "No match"):
			s.Miss = MissDrop
		case strings.HasPrefix(text, "Packets are IP fragments"):
			s.Miss = MissFragment
		default:
			s.Miss = MissOther
		}
		return s
	}
	s.MatchText = strings.TrimRight(text[:i], ", ")
	if m, err := ParseMatch(s.MatchText); err == nil {
		s.Match = &m
	}
	priority, rest, _ := strings.Cut(text[i+len("priority "):], ",")
	s.Priority, _ = strconv.Atoi(priority)
	if cookie, ok := strings.CutPrefix(strings.TrimSpace(rest), "cookie "); ok {
		s.Cookie, _ = strconv.ParseUint(cookie, 0, 64)
	}
	s.foreignMiss()
	return s
}

// foreignMiss handles a lookup without match in a bridge other than the trace's first. For those Open vSwitch prints
// its internal flows, which have a number in reg0.
func (s *Step) foreignMiss() {
	if s.Priority != 0 || s.Cookie != 0 {
		return
	}
	switch s.MatchText {
	case "reg0=0x1":
		s.Miss = MissController
	case "reg0=0x2":
		s.Miss, s.MatchText, s.Match = MissDrop, "No match.", nil // its own words, of the first bridge
	case "reg0=0x3":
		s.Miss = MissFragment
	}
}
