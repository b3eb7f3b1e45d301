package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Coverage returns how often each event that a daemon counts has happened since it started. Events that never
// happened are absent.
func (h *Host) Coverage(daemon string) (map[string]uint64, error) {
	return Derive(h, daemon, func() (map[string]uint64, error) {
		text, err := h.Control(daemon, "coverage/show")
		if err != nil {
			return nil, err
		}
		counters := map[string]uint64{}
		for line := range strings.Lines(text) {
			// NAME 0.0/sec 0.033/sec 0.0011/sec total: 4
			head, total, ok := strings.Cut(line, "total:")
			name, _, _ := strings.Cut(strings.TrimSpace(head), " ")
			n, err := strconv.ParseUint(strings.TrimSpace(total), 10, 64)
			if ok && err == nil {
				counters[name] = n
			}
		}
		return counters, nil
	})
}

// FlowGeneration returns the longest time that ovn-controller took to compute its flows from the Southbound since it
// started, ovn-controller(8).
func (h *Host) FlowGeneration() (time.Duration, error) {
	text, err := h.Control("ovn-controller", "stopwatch/show", "flow-generation")
	if err != nil {
		return 0, err
	}
	return parseLongest(text)
}

func parseLongest(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "Maximum:"); ok {
			return time.ParseDuration(strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(value), "ec"), " ", ""))
		}
	}
	return 0, errors.New("stopwatch/show: no maximum in the reply")
}

// Datapaths returns the OVS datapaths of the host's ovs-vswitchd.
func (h *Host) Datapaths() ([]node.Datapath, error) {
	return Distil(h, "", func() ([]node.Datapath, error) {
		text, err := h.Control("ovs-vswitchd", "dpctl/show")
		return node.ParseDatapaths(text), err
	})
}

// DefaultFlowLimit is how many flows an OVS datapath may hold by default, ovs-vswitchd.conf.db(5).
const DefaultFlowLimit = 200000

// Upcalls is what ovs-vswitchd reports about its flows in an OVS datapath.
type Upcalls struct {
	Datapath                     string
	Current, Average, Max, Limit int
	DumpMillis                   int // time of the last full dump
}

// Upcalls returns one Upcalls per OVS datapath.
func (h *Host) Upcalls() ([]Upcalls, error) {
	return Derive(h, "", func() ([]Upcalls, error) {
		text, err := h.Control("ovs-vswitchd", "upcall/show")
		return parseUpcalls(text), err
	})
}

func parseUpcalls(text string) []Upcalls {
	var list []Upcalls
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && line[0] != ' ' && line[0] != '\t' {
			list = append(list, Upcalls{Datapath: key})
			continue
		}
		if len(list) == 0 {
			continue
		}
		u := &list[len(list)-1]
		switch strings.TrimSpace(key) {
		case "flows": // (current 19) (avg 3) (max 11) (limit 11000)
			u.flows(value)
		case "dump duration":
			u.DumpMillis, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), "ms"))
		}
	}
	return list
}

// flows parses (NAME NUMBER)….
func (u *Upcalls) flows(text string) {
	for part := range strings.SplitSeq(text, ")") {
		name, number, _ := strings.Cut(strings.TrimLeft(part, " ("), " ")
		n, err := strconv.Atoi(number)
		into := map[string]*int{"current": &u.Current, "avg": &u.Average, "max": &u.Max, "limit": &u.Limit}[name]
		if err == nil && into != nil {
			*into = n
		}
	}
}

// FDBStats are the statistics of a bridge's MAC learning table.
type FDBStats struct {
	Current, Max                     int
	Learned, Expired, Evicted, Moved uint64 // since the bridge was created or the counters cleared
}

// FDBStats returns the statistics of a bridge that learns addresses, since Open vSwitch 2.10.
func (h *Host) FDBStats(bridge string) (FDBStats, error) {
	return Derive(h, bridge, func() (FDBStats, error) {
		text, err := h.Control("ovs-vswitchd", "fdb/stats-show", bridge)
		if err != nil {
			return FDBStats{}, err
		}
		return parseFDBStats(text)
	})
}

func parseFDBStats(text string) (s FDBStats, err error) {
	err = errors.New("fdb/stats-show: no table size in the reply")
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		n, _ := strconv.ParseUint(value, 10, 64)
		switch strings.TrimSpace(key) {
		case "Current/maximum MAC entries in the table":
			_, err = fmt.Sscanf(value, "%d/%d", &s.Current, &s.Max)
		case "Total number of learned MAC entries":
			s.Learned = n
		case "Total number of expired MAC entries":
			s.Expired = n
		case "Total number of evicted MAC entries":
			s.Evicted = n
		case "Total number of port moved MAC entries":
			s.Moved = n
		}
	}
	return s, err
}

// CTZones returns ovn-controller's ct zone numbers by zone name: a logical port's, or ROUTER-UUID_snat and _dnat.
func (h *Host) CTZones() (map[string]int, error) {
	return Derive(h, "", func() (map[string]int, error) {
		text, err := h.Control("ovn-controller", "ct-zone-list")
		if err != nil {
			return nil, err
		}
		zones := map[string]int{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			i := strings.LastIndexByte(line, ' ')
			if n, err := strconv.Atoi(line[i+1:]); err == nil && i > 0 {
				zones[line[:i]] = n
			}
		}
		return zones, nil
	})
}

// A TableSize is the size and limit of a table.
type TableSize struct {
	Now, Max int
	Datapath string // OVS datapath; empty: the kernel's
	Source   string // the source: "dpctl/ct-get-nconns", "/proc/sys/net/netfilter/nf_conntrack_count"
}

// Full returns how full the table is, from 0 to 1; 0 if it has no limit.
func (t TableSize) Full() float64 {
	if t.Max <= 0 {
		return 0
	}
	return float64(t.Now) / float64(t.Max)
}

// Idle reports whether an OVS datapath is known to track no connection: none of its zones can be full, and there is
// nothing to list.
func Idle(sizes []TableSize, datapath string) bool {
	return slices.ContainsFunc(sizes, func(t TableSize) bool { return t.Datapath == datapath && t.Now == 0 })
}

// ConntrackSize returns how many connections the host tracks and the limit, for the userspace datapath if that is in
// use, and for the kernel.
func (h *Host) ConntrackSize() ([]TableSize, error) {
	return Derive(h, "", func() ([]TableSize, error) {
		var sizes []TableSize
		var errs []error
		if t, err := h.userspaceConntrack(); err == nil {
			sizes = append(sizes, t...)
		} else {
			errs = append(errs, err)
		}
		t := TableSize{Source: "/proc/sys/net/netfilter/nf_conntrack_count"}
		now, err := h.Sysctl("net/netfilter/nf_conntrack_count")
		most, err2 := h.Sysctl("net/netfilter/nf_conntrack_max")
		switch {
		case errors.Is(err, fs.ErrNotExist): // the kernel tracks none
		case err != nil || err2 != nil:
			errs = append(errs, errors.Join(err, err2))
		default:
			t.Now, err = strconv.Atoi(now)
			t.Max, err2 = strconv.Atoi(most)
			if err == nil && err2 == nil {
				sizes = append(sizes, t)
			}
		}
		if len(sizes) > 0 {
			return sizes, nil
		}
		return nil, errors.Join(errs...)
	})
}

func (h *Host) userspaceConntrack() (sizes []TableSize, err error) {
	datapaths, err := h.Datapaths()
	if err != nil {
		return nil, err
	}
	for _, d := range datapaths {
		if !d.Userspace() {
			continue
		}
		now, err := h.Control("ovs-vswitchd", "dpctl/ct-get-nconns", d.Name)
		if err != nil {
			return nil, err
		}
		most, err := h.Control("ovs-vswitchd", "dpctl/ct-get-maxconns", d.Name)
		if err != nil {
			return nil, err
		}
		t := TableSize{Datapath: d.Name, Source: "dpctl/ct-get-nconns " + d.Name}
		if t.Now, err = strconv.Atoi(strings.TrimSpace(now)); err != nil {
			return nil, fmt.Errorf("dpctl/ct-get-nconns: %w", err)
		}
		if t.Max, err = strconv.Atoi(strings.TrimSpace(most)); err != nil {
			return nil, fmt.Errorf("dpctl/ct-get-maxconns: %w", err)
		}
		sizes = append(sizes, t)
	}
	return sizes, nil
}

// ConntrackLimits returns the limits of zones of an OVS datapath, `dpctl/ct-get-limits`: those with one of their own and,
// where there is a default, those that are named.
func (h *Host) ConntrackLimits(datapath string, named []int) ([]openflow.ZoneLimit, error) {
	return Derive(h, fmt.Sprint(datapath, named), func() ([]openflow.ZoneLimit, error) {
		text, err := h.Control("ovs-vswitchd", "dpctl/ct-get-limits", datapath)
		limits := openflow.ParseZoneLimits(text)
		if err != nil || len(limits) == 0 || limits[0].Zone >= 0 || limits[0].Limit == 0 || len(named) == 0 {
			return limits, err
		}
		var others []string
		for _, z := range named {
			if !slices.ContainsFunc(limits, func(l openflow.ZoneLimit) bool { return l.Zone == z }) {
				others = append(others, strconv.Itoa(z))
			}
		}
		if len(others) == 0 {
			return limits, nil
		}
		text, err = h.Control("ovs-vswitchd", "dpctl/ct-get-limits", datapath, "zone="+strings.Join(others, ","))
		return append(limits, openflow.ParseZoneLimits(text)...), err
	})
}

// A CTEntry is an entry of a connection tracking table.
type CTEntry struct {
	Protocol string       // "tcp", "udp", "icmp", …
	Orig     packet.Tuple // without ports for ICMP
	Reply    packet.Tuple
	Zone     int
	Timeout  int // seconds until it expires without a packet; -1: unknown
	Datapath string
}

// Conntrack returns the connections of all OVS datapaths, or an error if there are more than 50,000: reading them
// blocks ovs-vswitchd.
func (h *Host) Conntrack() ([]CTEntry, error) {
	return Derive(h, "", func() ([]CTEntry, error) {
		sizes, err := h.ConntrackSize()
		if err != nil {
			return nil, err
		}
		for _, s := range sizes {
			if s.Now > node.MostConnections {
				return nil, fmt.Errorf("%d connections on %s, over the limit of %d that keeps ovs-vswitchd responsive: dump one ct zone with `ovs-appctl dpctl/dump-conntrack zone=N`", s.Now, h.Name, node.MostConnections)
			}
		}
		datapaths, err := h.Datapaths()
		if err != nil {
			return nil, err
		}
		var all []CTEntry
		for _, d := range datapaths {
			if Idle(sizes, d.Name) {
				continue
			}
			text, err := h.Control("ovs-vswitchd", "dpctl/dump-conntrack", "-m", "-s", d.Name)
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(text) {
				if c, ok := entry(line); ok {
					c.Datapath = d.Name
					all = append(all, c)
				}
			}
		}
		return all, nil
	})
}

// entry parses a line of dpctl/dump-conntrack.
func entry(line string) (CTEntry, bool) {
	c, err := openflow.ParseConnection(line)
	if err != nil {
		return CTEntry{}, false
	}
	e := CTEntry{Protocol: c.Proto, Orig: ends(c.Orig), Reply: ends(c.Reply), Zone: int(c.Zone), Timeout: -1}
	if c.Timeout != nil {
		e.Timeout = int(*c.Timeout)
	}
	return e, c.Orig.Src.IsValid()
}

func ends(t openflow.Tuple) packet.Tuple {
	return packet.Tuple{Src: t.Src, Dst: t.Dst, SrcPort: t.SrcPort, DstPort: t.DstPort}
}

// Sysctl returns a kernel setting, "net/ipv4/ip_forward"; network settings are those of the host's own namespace. One
// that the kernel lacks is fs.ErrNotExist.
func (h *Host) Sysctl(name string) (string, error) {
	b, err := h.File("/proc/sys/" + name)
	return strings.TrimSpace(string(b)), err
}

// ProtocolCounters returns the kernel's protocol counters by name, such as "Udp InCsumErrors" and "Udp6InCsumErrors".
func (h *Host) ProtocolCounters() (map[string]int64, error) {
	b, err := h.File("/proc/net/snmp")
	if err != nil {
		return nil, err
	}
	counters := parseSNMP(string(b))
	six, err := h.File("/proc/net/snmp6")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // IPv6 may be disabled
		return nil, err
	}
	for line := range strings.Lines(string(six)) {
		f := strings.Fields(line)
		if len(f) == 2 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				counters[f[0]] = n
			}
		}
	}
	return counters, nil
}

// parseSNMP parses pairs of lines: "Udp: InDatagrams …" and "Udp: 5 …".
func parseSNMP(text string) map[string]int64 {
	counters := map[string]int64{}
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if len(names) != len(f) || names[0] != f[0] {
			names = f
			continue
		}
		for i := 1; i < len(f); i++ {
			if n, err := strconv.ParseInt(f[i], 10, 64); err == nil {
				counters[strings.TrimSuffix(f[0], ":")+" "+names[i]] = n
			}
		}
		names = nil
	}
	return counters
}

// A Listener is a socket that accepts connections or packets.
type Listener struct {
	Protocol string // "tcp" or "udp"
	Addr     netip.AddrPort
}

// Listeners returns the listening TCP sockets and the unconnected UDP sockets of both families, in the host's
// network.
func (h *Host) Listeners() ([]Listener, error) {
	return Derive(h, "", func() ([]Listener, error) {
		var all []Listener
		for _, t := range []struct{ file, protocol, state string }{
			{"tcp", "tcp", "0A"}, {"tcp6", "tcp", "0A"}, {"udp", "udp", "07"}, {"udp6", "udp", "07"},
		} {
			b, err := h.File("/proc/net/" + t.file)
			if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(t.file, "6") {
				continue
			}
			if err != nil {
				return nil, err
			}
			scanner := bufio.NewScanner(strings.NewReader(string(b)))
			for scanner.Scan() {
				f := strings.Fields(scanner.Text()) // sl local_address rem_address st …
				if len(f) < 4 || f[3] != t.state {
					continue
				}
				if addr, ok := parseSocketAddr(f[1]); ok {
					all = append(all, Listener{t.protocol, addr})
				}
			}
		}
		return all, nil
	})
}

// parseSocketAddr parses "0100007F:1A0B": words in host byte order.
func parseSocketAddr(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(address) != 8 && len(address) != 32 {
		return netip.AddrPort{}, false
	}
	var raw []byte
	for i := 0; i < len(address); i += 8 {
		word, err := strconv.ParseUint(address[i:i+8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		raw = binary.NativeEndian.AppendUint32(raw, uint32(word))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), true
}

// Firewall returns the chains of the host's packet filter.
func (h *Host) Firewall() ([]node.Chain, error) {
	return read(&h.memo, question{what: "firewall"}, func() ([]node.Chain, error) { return h.node.Host.Firewall(h.d.ctx) })
}
