package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A Mesh is what became of packets that nodes sent each other through their tunnels.
type Mesh struct {
	Nodes   []string     `json:"nodes"`   // that sent and received
	Tunnels []MeshTunnel `json:"tunnels"` // of each node to each other one
}

// A MeshTunnel is one direction between two nodes.
type MeshTunnel struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Type   string   `json:"type"`   // geneve or vxlan
	Remote string   `json:"remote"` // the address that packets are sent to
	Small  Crossing `json:"small"`
	Full   Crossing `json:"full"` // of the largest size that ports of the sender have and its link carries

	bridge string
	port   int // OpenFlow port of the tunnel
	fill   int // size of the full packet
	source *member
	target *member
}

// A Crossing is what became of packets of one size in a tunnel.
type Crossing struct {
	Size   int   `json:"size"` // in bytes, from the inner IP header on
	Result Stage `json:"result"`
	// Left and Entered are the links that it was seen on, empty if it was not seen or not watched.
	Left    string `json:"left"`
	Entered string `json:"entered"`
	// Between says where it was lost, or why nobody knows, in words; empty if it was received.
	Between string `json:"between"`
}

// A Stage is how far a packet came in a tunnel.
type Stage string

// Values of Stage.
const (
	Received  Stage = "received" // the other node's tunnel port took it
	LostInner Stage = "entered"  // it came to the other node, whose tunnel port did not take it
	LostOn    Stage = "left"     // it left the sender, and did not come to the other node
	LostAt    Stage = "kept"     // it did not leave the sender
	Unsure    Stage = "unknown"  // it could not be sent, or the other node could not be asked
)

// Lost reports whether a packet was sent and not received.
func (s Stage) Lost() bool { return s != Received && s != Unsure }

// Broken reports whether a tunnel loses packets.
func (t *MeshTunnel) Broken() bool { return t.Small.Result.Lost() || t.Full.Result.Lost() }

// A member is a node of a mesh.
type member struct {
	node      *cluster.Node
	prober    node.Prober
	listening *node.Listening
	unwatched string // why
	unsent    string // why packets could not be sent
	seen      map[uint32]*passage
}

// A passage is where one node saw a packet.
type passage struct{ left, entered string }

const (
	// rounds is how often a packet that is not received is sent: the first to a neighbour is lost while its MAC address is
	// being resolved.
	rounds = 3
	// tunnelWait is how long a packet may take to the other end.
	tunnelWait = time.Second
	// sendersAtOnce bounds the nodes that send at one time.
	sendersAtOnce = 8
	// overhead is what Geneve adds to an IP packet over IPv4; over IPv6 it is 20 more.
	overhead = 58
	// meshMark is the part of a word that all packets of a mesh share; the rest numbers them.
	meshMark = 0xfff00000
	// Network identifiers from firstVNI on are those of no datapath: OVN gives them out from 1 on, and of those in VXLAN, which
	// has 12 bits for them, the last are left. Nodes discard packets with them.
	firstVNI = 0xffff00
)

// A mesh is one sending of packets through tunnels.
type mesh struct {
	members []*member
	tunnels []*MeshTunnel
	prefix  uint32
	vni     uint32 // of small packets; that of full ones follows

	mu sync.Mutex
}

// Tunnels sends packets through every tunnel between the nodes that can be reached, small ones and ones of full size, and
// reports which were received. The packets belong to no logical network: whoever receives them discards them.
func Tunnels(ctx context.Context, c *cluster.Cluster) (*Mesh, error) {
	m := &mesh{}
	c.Gather(ctx)
	for _, n := range c.Hosts {
		if n.Vswitch() == nil {
			continue
		}
		if p, ok := n.Host.(node.Prober); ok {
			m.members = append(m.members, &member{node: n, prober: p, seen: map[uint32]*passage{}})
		}
	}
	if err := m.find(ctx); err != nil {
		return nil, err
	}
	m.number(ctx)
	m.listen(ctx)
	m.send(ctx)
	m.stop()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.result(), nil
}

// each calls f for all members, some at a time.
func (m *mesh) each(f func(*member)) {
	var all errgroup.Group
	all.SetLimit(sendersAtOnce)
	for _, one := range m.members {
		all.Go(func() error {
			f(one)
			return nil
		})
	}
	_ = all.Wait()
}

// find finds the tunnels between the members.
func (m *mesh) find(ctx context.Context) error {
	byID := map[string]*member{}
	for _, one := range m.members {
		byID[one.node.SystemID] = one
	}
	var failed error
	m.each(func(one *member) {
		tunnels, err := one.tunnels(ctx, byID)
		m.mu.Lock()
		defer m.mu.Unlock()
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("tunnels of %s: %w", one.node.Name, err))
		}
		m.tunnels = append(m.tunnels, tunnels...)
	})
	slices.SortFunc(m.tunnels, func(a, b *MeshTunnel) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.Remote, b.Remote))
	})
	return failed
}

// number chooses the marks of the mesh's packets. A datapath keeps its flows for seconds after the last packet, so that those
// of an earlier mesh with the same network identifiers would stand for packets of this one: identifiers that some node has flows
// for are not taken.
func (m *mesh) number(ctx context.Context) {
	var seed [4]byte
	_, _ = rand.Read(seed[:])
	random := binary.BigEndian.Uint32(seed[:])
	m.prefix = random & meshMark
	for i := range uint32(1 << 7) {
		m.vni = firstVNI + (random+2*i)&0xfe
		var taken atomic.Bool
		m.each(func(one *member) {
			for full := range uint32(2) {
				// A datapath that cannot be asked now says so when it is asked for the packets.
				if dump, err := one.flows(ctx, m.vni+full); err == nil && strings.Contains(dump, tunnelled(m.vni+full)) {
					taken.Store(true)
				}
			}
		})
		if !taken.Load() {
			return
		}
	}
}

// flows returns the flows that a node's datapath may have for packets with a network identifier: those for tunnelled packets
// with it, and all that do not look at it.
func (one *member) flows(ctx context.Context, vni uint32) (string, error) {
	return one.node.Host.Control(ctx, "ovs-vswitchd", "dpctl/dump-flows", fmt.Sprintf("filter=tun_id=%#x", vni))
}

// tunnels returns a node's tunnels to others: the ports that ovn-controller made, and for which chassis.
func (one *member) tunnels(ctx context.Context, byID map[string]*member) ([]*MeshTunnel, error) {
	bridges, err := ovsdb.Find[vswitch.BridgeBrief](ctx, one.node.Vswitch())
	if err != nil {
		return nil, err
	}
	ports, err := ovsdb.Find[vswitch.PortBrief](ctx, one.node.Vswitch())
	if err != nil {
		return nil, err
	}
	rows, err := ovsdb.Find[vswitch.Interface](ctx, one.node.Vswitch())
	if err != nil {
		return nil, err
	}
	interfaces := map[ovsdb.UUID]*vswitch.Interface{}
	mtu := 0 // of what is plugged in
	for i := range rows {
		r := &rows[i]
		interfaces[r.UUID] = r
		if r.ExternalIDs["iface-id"] != "" {
			mtu = max(mtu, r.MTU.Get())
		}
	}
	bridgeOf := map[ovsdb.UUID]string{}
	for _, b := range bridges {
		for _, p := range b.Ports {
			bridgeOf[p] = b.Name
		}
	}
	var all []*MeshTunnel
	for _, p := range ports {
		id, _, _ := strings.Cut(p.ExternalIDs["ovn-chassis-id"], "@")
		target := byID[id]
		if target == nil || target == one {
			continue
		}
		for _, uuid := range p.Interfaces {
			i := interfaces[uuid]
			if i == nil || i.Type != "geneve" && i.Type != "vxlan" {
				continue
			}
			t := &MeshTunnel{
				From: one.node.Name, To: target.node.Name, Type: i.Type, Remote: i.Options["remote_ip"],
				bridge: bridgeOf[p.UUID], port: i.OFPort.Get(), source: one, target: target,
			}
			t.fill = one.full(ctx, t.Remote, mtu)
			all = append(all, t)
		}
	}
	return all, nil
}

// full returns the size of a full packet to an address: what ports may send, and the node's link carries in a tunnel.
func (one *member) full(ctx context.Context, remote string, mtu int) int {
	to, err := netip.ParseAddr(remote)
	if err != nil {
		return 0
	}
	room := 0
	route, err := one.node.Host.Route(ctx, node.RouteQuery{Dst: to})
	if network, err2 := one.node.Host.Network(ctx); err == nil && err2 == nil {
		if l := network.Link(route.Dev); l != nil {
			room = l.MTU - overhead
			if to.Is6() {
				room -= 20
			}
		}
	}
	switch {
	case mtu == 0:
		return room
	case room == 0:
		return mtu
	}
	return min(mtu, room)
}

// listen watches the links of all members. One that cannot be watched can still send and receive.
func (m *mesh) listen(ctx context.Context) {
	m.each(func(one *member) {
		watch := node.Watch{Words: []node.Word{{Value: m.prefix, Mask: meshMark}}, For: time.Minute}
		l, err := one.prober.Listen(ctx, watch, func(f node.Frame) { m.see(one, f) })
		if err != nil {
			one.unwatched = err.Error()
			return
		}
		one.listening = l
	})
}

func (m *mesh) see(one *member, f node.Frame) {
	e, ok := readEncapsulated(f.Protocol, f.Data)
	if !ok || e.word&meshMark != m.prefix || e.vni&^1 != m.vni {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := one.seen[e.word]
	if p == nil {
		p = &passage{}
		one.seen[e.word] = p
	}
	if f.Out {
		p.left = f.Link // the last is nearest to the wire
	} else if p.entered == "" {
		p.entered = f.Link
	}
}

func (m *mesh) stop() {
	m.each(func(one *member) {
		if one.listening == nil {
			return
		}
		if err := one.listening.Stop(); err != nil {
			one.unwatched = err.Error()
		}
	})
}

// send sends what was not received yet, in rounds.
func (m *mesh) send(ctx context.Context) {
	for range rounds {
		m.each(func(one *member) { m.sendFrom(ctx, one) })
		sleep(ctx, grace)
		for left := tunnelWait; ctx.Err() == nil; left -= tunnelWait / 4 {
			m.each(func(one *member) { m.ask(ctx, one) })
			if left <= 0 || !slices.ContainsFunc(m.tunnels, (*MeshTunnel).waits) {
				break
			}
			sleep(ctx, tunnelWait/4)
		}
		if ctx.Err() != nil || !slices.ContainsFunc(m.tunnels, (*MeshTunnel).waits) {
			return
		}
	}
}

// waits reports whether a tunnel's packets are not received yet, and can be sent.
func (t *MeshTunnel) waits() bool {
	return t.source.unsent == "" && (t.Small.Result != Received || t.Full.Result != Received && t.fill > smallInside)
}

// smallInside is the size of a small packet.
const smallInside = 84

// word numbers a tunnel's packets.
func (m *mesh) word(i int, full bool) uint32 {
	w := m.prefix | uint32(2*i)&^meshMark
	if full {
		w |= 1
	}
	return w
}

// sendFrom sends a node's packets.
func (m *mesh) sendFrom(ctx context.Context, one *member) {
	frames := map[string][]node.Outgoing{}
	for i, t := range m.tunnels {
		if t.source != one || !t.waits() {
			continue
		}
		for _, s := range []struct {
			crossing *Crossing
			size     int
			full     bool
		}{{&t.Small, smallInside, false}, {&t.Full, t.fill, true}} {
			if s.crossing.Result == Received || s.size < smallInside || s.full && s.size == smallInside {
				continue
			}
			s.crossing.Size = s.size
			vni := m.vni
			if s.full {
				vni++
			}
			frames[t.bridge] = append(frames[t.bridge], node.Outgoing{
				Frame: insideFrame(m.word(i, s.full), s.size), Actions: fmt.Sprintf("set_field:%#x->tun_id,output:%d", vni, t.port),
			})
		}
	}
	for bridge, list := range frames {
		if err := one.prober.PacketOut(ctx, bridge, list); err != nil {
			one.unsent = err.Error()
		}
	}
}

// ask asks a node's datapath for the packets that its tunnel ports took: it has a flow for each network identifier and sender.
func (m *mesh) ask(ctx context.Context, one *member) {
	for full := range uint32(2) {
		crossing := func(t *MeshTunnel) *Crossing {
			if full == 1 {
				return &t.Full
			}
			return &t.Small
		}
		if !slices.ContainsFunc(m.tunnels, func(t *MeshTunnel) bool { return t.target == one && crossing(t).Result != Received }) {
			continue
		}
		dump, err := one.flows(ctx, m.vni+full)
		for _, t := range m.tunnels {
			c := crossing(t)
			switch {
			case t.target != one || c.Result == Received:
			case err != nil:
				c.Result, c.Between = Unsure, err.Error()
			case m.took(dump, t, m.vni+full):
				c.Result, c.Between = Received, ""
			default:
				c.Result = ""
			}
		}
	}
}

// took reports whether a dump of datapath flows has one for packets from a tunnel's sender.
func (m *mesh) took(dump string, t *MeshTunnel, vni uint32) bool {
	for _, back := range m.tunnels {
		if back.source != t.target || back.target != t.source {
			continue
		}
		for _, field := range []string{"src=", "ipv6_src="} {
			if strings.Contains(dump, tunnelled(vni)+field+back.Remote+",") {
				return true
			}
		}
	}
	return false
}

// tunnelled is how the match of a datapath flow for tunnelled packets with a network identifier begins.
func tunnelled(vni uint32) string { return fmt.Sprintf("tunnel(tun_id=%#x,", vni) }

// result judges what was not received.
func (m *mesh) result() *Mesh {
	r := &Mesh{Nodes: []string{}, Tunnels: []MeshTunnel{}}
	for _, one := range m.members {
		r.Nodes = append(r.Nodes, one.node.Name)
	}
	slices.Sort(r.Nodes)
	for i, t := range m.tunnels {
		t.judge(&t.Small, m.word(i, false))
		if t.Full.Size == 0 {
			t.Full = t.Small
		} else {
			t.judge(&t.Full, m.word(i, true))
		}
		r.Tunnels = append(r.Tunnels, *t)
	}
	return r
}

// judge says how far a packet of a tunnel came.
func (t *MeshTunnel) judge(c *Crossing, word uint32) {
	if p := t.source.seen[word]; p != nil {
		c.Left = p.left
	}
	if p := t.target.seen[word]; p != nil {
		c.Entered = p.entered
	}
	switch {
	case c.Result == Received:
	case t.source.unsent != "":
		c.Result, c.Between = Unsure, "nothing was sent: "+t.source.unsent
	case c.Result == Unsure:
	case c.Entered != "":
		c.Result, c.Between = LostInner, "it came to "+t.To+" ("+c.Entered+"), and its tunnel port did not take it: the packet filter or the bridges of "+t.To
	case c.Left == "" && t.source.unwatched != "":
		c.Result, c.Between = LostOn, t.From+" is not watched: "+t.source.unwatched
	case c.Left == "":
		c.Result, c.Between = LostAt, "it did not leave "+t.From+": its bridges, routes, neighbours and the MTU of its link"
	case t.target.unwatched != "":
		c.Result, c.Between = LostOn, "it left "+t.From+" ("+c.Left+"); "+t.To+" is not watched: "+t.target.unwatched
	default:
		c.Result, c.Between = LostOn, "it left "+t.From+" ("+c.Left+"), and did not come to "+t.To+": the underlay between them"
	}
}
