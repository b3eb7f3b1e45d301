package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	for in, want := range map[string][]string{
		"":                                    nil,
		"ssh {hostname}":                      {"ssh", "{hostname}"},
		"  a\tb\n c ":                         {"a", "b", "c"},
		`a 'b c' "d e" f\ g`:                  {"a", "b c", "d e", "f g"},
		`a ''"" 'x'y"z"`:                      {"a", "", "xyz"},
		`'$HOME' "\$x \a \"q\" \\" \'`:        {"$HOME", `$x \a "q" \`, "'"},
		`ssh -o 'ProxyCommand=x; y' $(touch)`: {"ssh", "-o", "ProxyCommand=x; y", "$(touch)"},
	} {
		got, err := splitWords(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`'`, `a "b`, `a\`} {
		if got, err := splitWords(in); err == nil {
			t.Errorf("%q: %q, want an error", in, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add("a", "b c", "d'e")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		words := []string{a, b, c}
		got, err := splitWords(shellQuote(a) + " " + shellQuote(b) + "\t" + shellQuote(c))
		if err != nil || !slices.Equal(got, words) {
			t.Errorf("%q: %q, %v", words, got, err)
		}
	})
}

func FuzzParseParts(f *testing.F) {
	f.Add([]byte("noise X begin a\nout\nX said a 0\nerr\nX end a\nX begin b\n\nX said b 2\n\nX end b\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseParts(b, "X") })
}

func TestParseParts(t *testing.T) {
	got := parseParts([]byte("motd\nX begin a\nout\n\nX said a 0\nerr\nX end a\nX begin b\n\nX said b 2\n\nX end b\nX begin a\ndied\nX said X begin d\n\nX said d 0\n\nX end d\nX begin c\ncut sho"), "X")
	want := map[string]part{"a": {out: []byte("out\n"), err: "err"}, "b": {out: []byte(""), code: 2}, "d": {out: []byte("")}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(part{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzTLVMap(f *testing.F) {
	f.Add(byte(6), []byte("\x00\x00\x01\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x80\x04\x00\x00\x00\x00"))
	f.Fuzz(func(_ *testing.T, version byte, b []byte) {
		_, _ = printTLVMap(version, 2, b)
		commonVersion(version, b)
	})
}

func FuzzPortDesc(f *testing.F) {
	port := append([]byte{0xff, 0xff, 0xff, 0xfe, 0, 72, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0}, "br-ex"...)
	port = append(port, make([]byte, 72-len(port))...)
	port[36], port[43] = 4, 32
	f.Add(byte(6), port)
	f.Add(byte(4), port[:64])
	f.Fuzz(func(_ *testing.T, version byte, b []byte) {
		ports, _ := appendPorts(nil, version, b)
		for _, p := range ports {
			p.print(new(strings.Builder))
		}
	})
}

// The rules of iptables: as nft shows them when they are its own, and as
// iptables-save does when they are not.
func TestParseIptables(t *testing.T) {
	nft := NATRules(parseNFT(`table ip nat { # handle 1
	chain POSTROUTING { # handle 2
		type nat hook postrouting priority srcnat; policy accept;
		oifname "eth0" counter packets 3 bytes 180 masquerade  # handle 3
		meta l4proto tcp counter packets 0 bytes 0 xt target "MASQUERADE" # handle 4
		counter packets 5 bytes 9 xt target "MARK" # handle 5
		iifname "masquerade" accept # handle 6
		ip saddr 10.0.0.0/8 comment "snat to come" accept # handle 7
	}
}
`))
	want := []NATRule{
		{Family: "ip", Table: "nat", Chain: "POSTROUTING", Hook: "postrouting", Action: "masquerade", Text: `oifname "eth0" masquerade`},
		{Family: "ip", Table: "nat", Chain: "POSTROUTING", Hook: "postrouting", Action: "masquerade", Text: `meta l4proto tcp xt target "MASQUERADE"`},
	}
	if diff := cmp.Diff(want, nft); diff != "" {
		t.Errorf("nft (-want +got):\n%s", diff)
	}
	legacy := NATRules(parseIptables("ip6", `*nat
:PREROUTING ACCEPT [0:0]
-A PREROUTING -d fd00::1/128 -p tcp -m tcp --dport 80 -j DNAT --to-destination [fd00::2]:8080
-A KUBE-X -m comment --comment "-j SNAT" -j RETURN
-A POSTROUTING -j KUBE-X
-A POSTROUTING -o eth0 -j MASQUERADE
COMMIT
`))
	want = []NATRule{
		{Family: "ip6", Table: "nat", Chain: "PREROUTING", Hook: "prerouting", Action: "dnat", Text: "-A PREROUTING -d fd00::1/128 -p tcp -m tcp --dport 80 -j DNAT --to-destination [fd00::2]:8080"},
		{Family: "ip6", Table: "nat", Chain: "POSTROUTING", Hook: "postrouting", Action: "masquerade", Text: "-A POSTROUTING -o eth0 -j MASQUERADE"},
	}
	if diff := cmp.Diff(want, legacy); diff != "" {
		t.Errorf("iptables (-want +got):\n%s", diff)
	}
}

func FuzzParseNFT(f *testing.F) {
	f.Add("table ip x {\nchain y {\ntype nat hook output priority 0\nmasquerade\n}\n}\n")
	f.Fuzz(func(_ *testing.T, text string) {
		parseNFT(text)
		parseIptables("ip", text)
	})
}

// Links below another root are followed as there, not as here.
func TestResolve(t *testing.T) {
	root := t.TempDir()
	link := func(name, target string) {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"run/ovn", "var"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link("var/run", "/run")
	link("var/up", "../../../../etc")
	link("loop", "loop")
	for in, want := range map[string]string{
		"/var/run/ovn/x":        "/run/ovn/x",
		"/var/up/passwd":        "/etc/passwd",
		"../../etc/passwd":      "/etc/passwd",
		"/run/../var/run/./ovn": "/run/ovn",
		"/loop/x":               "/loop/x",
		"/":                     "",
	} {
		if got := Resolve(root, in); got != root+want {
			t.Errorf("%s: %s, want %s", in, got, root+want)
		}
	}
	if got := Resolve("", "/var/run/x"); got != "/var/run/x" {
		t.Errorf("without a root: %s", got)
	}
}

// Whatever a node prints, reading it ends, and what was read can be written.
func FuzzParseNetwork(f *testing.F) {
	f.Add([]byte(`[{"ifindex":2,"link":"x","ifname":"va","flags":["UP"],"mtu":1500,"operstate":"UP","address":"ba:0d:97:50:92:ec","link_netnsid":0,"linkinfo":{"info_kind":"veth"},"addr_info":[{"family":"inet","local":"10.9.0.1","address":"10.9.0.2","prefixlen":24,"scope":"0"}]}]`))
	f.Add([]byte(`[{"type":"1","dst":"1.0.0.0/24","table":"254","protocol":"3","scope":"0","nexthops":[{"via":{"family":"inet6","host":"fd09::3"},"dev":"va","weight":3,"flags":["onlink"]}]}]`))
	f.Add([]byte(`[{"priority":77,"not":null,"src":"fd01::","srclen":64,"fwmark":"0x10","fwmask":"0xf0","iif":"va","table":"1000"},{"goto":5}]`))
	f.Add([]byte(`[{"dst":"fd00::1","dev":"eth0","lladdr":"02:fc:00:00:00:05","state":["STALE"]}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, only := range []string{"addr", "route4", "route6", "rule4", "rule6", "neigh"} {
			n, err := parseNetwork(func(name string) ([]byte, error) {
				if name == only {
					return b, nil
				}
				return nil, nil
			})
			if err != nil {
				continue
			}
			if _, err := json.Marshal(n); err != nil {
				t.Errorf("%s: %v", only, err)
			}
		}
	})
}

// FuzzParseDatapaths reads any text as dpctl/show.
func FuzzParseDatapaths(f *testing.F) {
	f.Add("system@ovs-system:\n  lookups: hit:12 missed:3 lost:1\n  flows: 4\n  masks: hit:20 total:2 hit/pkt:1.33\n  port 0: ovs-system (internal)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range ParseDatapaths(text) {
			if d.Name == "" || !strings.Contains(text, d.Name) {
				t.Errorf("%q has no datapath %q", text, d.Name)
			}
		}
	})
}

func TestLeavesChecksums(t *testing.T) {
	const text = "Features for lo:\ntx-checksumming: on\n\ttx-checksum-ip-generic: on [fixed]\nFeatures for eth0:\ntx-checksumming: on\n\ttx-checksum-ip-generic: off\n\ttx-checksum-sctp: on\n" +
		"Features for eth00:\n\ttx-checksum-ipv4: on\n"
	for link, want := range map[string]string{"lo": "true", "eth0": "false", "eth00": "true", "eth1": "unknown"} {
		got := "unknown"
		if leaves := leavesChecksums(parseLinkFeatures(text, link)); leaves != nil {
			got = strconv.FormatBool(*leaves)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", link, got, want)
		}
	}
}

// TestQueues reads what tc(8) prints of queueing disciplines that drop a packet that comes alone, and of others.
func TestQueues(t *testing.T) {
	for text, want := range map[string]int{
		`{"kind":"tbf","handle":"800e:","dev":"eth0","root":true,"refcnt":3,"options":{"rate":1,"burst":1,"lat":0}}`:                               1,
		`{"kind":"pfifo","handle":"800f:","dev":"eth0","root":true,"refcnt":3,"options":{"limit":0}}`:                                              0,
		`{"kind":"pfifo","handle":"800f:","dev":"eth0","root":true,"refcnt":3,"options":{"limit":10}}`:                                             -1,
		`{"kind":"bfifo","handle":"800f:","dev":"eth0","root":true,"refcnt":3,"options":{"limit":10}}`:                                             10,
		`{"kind":"blackhole","handle":"800f:","dev":"eth0","root":true,"refcnt":3,"options":{}}`:                                                   0,
		`{"kind":"netem","handle":"800f:","dev":"eth0","root":true,"options":{"limit":1000,"loss-random":{"loss":1,"correlation":0},"ecn":false}}`: 0,
		`{"kind":"netem","handle":"800f:","dev":"eth0","root":true,"options":{"limit":1000,"loss-random":{"loss":0.5,"correlation":0}}}`:           -1,
		`{"kind":"htb","handle":"8012:","dev":"eth0","root":true,"refcnt":3,"options":{"r2q":10,"default":"0","direct_packets_stat":0}}`:           -1,
		`{"kind":"tbf","handle":"1:","dev":"eth0","parent":"2:1","options":{"rate":1,"burst":1}}`:                                                  -1,
		`{"kind":"cake","handle":"1:","dev":"eth0","root":true,"options":{"limit":"many","burst":[]}}`:                                             -1,
		`{"kind":"tbf","dev":"eth0","root":true}`:                       -1,
		`{"kind":"tbf","dev":"eth1","root":true,"options":{"burst":1}}`: -1,
		`{"kind":"fq_codel","handle":"0:","dev":"eth0","root":true,"options":{"limit":10240,"flows":1024,"target":4999,"memory_limit":33554432}}`: -1,
	} {
		n := &Network{Links: []Link{{Name: "eth0"}}}
		if err := parseTC([]byte("["+text+"]"), n); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		got := -1
		if n.Links[0].Passes != nil {
			got = *n.Links[0].Passes
		}
		if got != want {
			t.Errorf("%s: passes %d, want %d", text, got, want)
		}
	}
}
