package snapshot

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

var addresses = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, addresses); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestParseUpcalls(t *testing.T) {
	same(t, "upcall/show", parseUpcalls(`system@ovs-system:
  flows         : (current 19) (avg 3) (max 11) (limit 11000) (offloaded 2)
  dump duration : 1ms
  ufid enabled : true

  5: (keys 19)
`), []Upcalls{{Datapath: "system@ovs-system", Current: 19, Average: 3, Max: 11, Limit: 11000, DumpMillis: 1}})
}

func TestParseFDBStats(t *testing.T) {
	got, err := parseFDBStats("Statistics for bridge \"br-ex\":\n  Current/maximum MAC entries in the table: 10/10\n  Total number of evicted MAC entries     : 29\n")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "fdb/stats-show", got, FDBStats{Current: 10, Max: 10, Evicted: 29})
	if got, err := parseFDBStats("nonsense\n"); err == nil {
		t.Errorf("nonsense: %+v", got)
	}
}

func TestParseLimits(t *testing.T) {
	same(t, "dpctl/ct-get-limits", openflow.ParseZoneLimits("default limit=0\nzone=5,limit=1,count=1\nzone=7,limit=100,count=0\n"),
		[]openflow.ZoneLimit{{Zone: -1}, {Zone: 5, Limit: 1, Now: 1}, {Zone: 7, Limit: 100}})
}

func TestEntry(t *testing.T) {
	between := func(src, dst string) packet.Tuple {
		from, to := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
		return packet.Tuple{Src: from.Addr(), Dst: to.Addr(), SrcPort: from.Port(), DstPort: to.Port()}
	}
	for line, want := range map[string]CTEntry{
		"tcp,orig=(src=10.1.0.1,dst=10.2.0.1,sport=43210,dport=80),reply=(src=10.3.0.1,dst=10.1.0.1,sport=8080,dport=43210),id=3,zone=7,mark=2,labels=0x2,timeout=100,protoinfo=(state_orig=ESTABLISHED,state_reply=ESTABLISHED,wscale_orig=7)": {
			Protocol: "tcp", Zone: 7, Timeout: 100,
			Orig: between("10.1.0.1:43210", "10.2.0.1:80"), Reply: between("10.3.0.1:8080", "10.1.0.1:43210"),
		},
		"tcp,orig=(src=fd00::1,dst=fd00::2,sport=1,dport=2),reply=(src=fd00::2,dst=fd00::1,sport=2,dport=1),protoinfo=(state=TIME_WAIT)": {
			Protocol: "tcp", Timeout: -1,
			Orig: between("[fd00::1]:1", "[fd00::2]:2"), Reply: between("[fd00::2]:2", "[fd00::1]:1"),
		},
		"icmp,orig=(src=10.1.0.1,dst=10.2.0.1,id=9,type=8,code=0),reply=(src=10.2.0.1,dst=10.1.0.1,id=9,type=0,code=0),zone=4": {
			Protocol: "icmp", Zone: 4, Timeout: -1,
			Orig: between("10.1.0.1:0", "10.2.0.1:0"), Reply: between("10.2.0.1:0", "10.1.0.1:0"),
		},
	} {
		got, ok := entry(line + "\n")
		if !ok {
			t.Errorf("%s is no connection", line)
		}
		same(t, line, got, want)
	}
	for _, line := range []string{"", "\n", "tcp", "tcp,orig=(", "x,orig=(src=y)"} {
		if c, ok := entry(line); ok {
			t.Errorf("%q is a connection: %+v", line, c)
		}
	}
}

func TestParseSNMP(t *testing.T) {
	got := parseSNMP("Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: MaxConn InCsumErrors\nTcp: -1 5\nUdp: InDatagrams\nUdp: 7\nUdpLite: InDatagrams\nUdpLite: 0\n")
	same(t, "snmp", got, map[string]int64{
		"Ip Forwarding": 1, "Ip DefaultTTL": 64, "Tcp MaxConn": -1, "Tcp InCsumErrors": 5, "Udp InDatagrams": 7, "UdpLite InDatagrams": 0,
	})
}

func TestParseLongest(t *testing.T) {
	const shown = `Statistics for 'flow-generation'
  Total samples: 72
  Maximum: %s
  Minimum: 0 msec
  95th percentile: 0.333333 msec
`
	for value, want := range map[string]time.Duration{"17 msec": 17 * time.Millisecond, "12345 msec": 12345 * time.Millisecond} {
		if got, err := parseLongest(fmt.Sprintf(shown, value)); err != nil || got != want {
			t.Errorf("parseLongest of %s = %v, %v; want %v", value, got, err, want)
		}
	}
	for _, text := range []string{"", "Maximum: soon", "Total samples: 3"} {
		if got, err := parseLongest(text); err == nil {
			t.Errorf("parseLongest(%q) = %v, want an error", text, got)
		}
	}
}
