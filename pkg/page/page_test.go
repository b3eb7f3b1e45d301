package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// deployment is one of OVN-Kubernetes' size: ten pods on each node, tunnels between all.
func deployment(nodes int, called string) *topology.Topology {
	t := &topology.Topology{}
	for i := range nodes {
		n := fmt.Sprint(called, "-", i)
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		t.Chassis = append(t.Chassis, &topology.Chassis{UUID: "c" + id, Name: "c" + id, Hostname: n, Node: n, OtherConfig: map[string]string{"ovn-bridge-mappings": "physnet:br-ex", called: called}})
		t.Switches = append(t.Switches, &topology.Switch{UUID: "s" + id, Name: n, Subnets: []string{"10.244.0.0/24"}})
		t.Nodes = append(t.Nodes, &topology.Node{UUID: "n" + id, Name: n})
		t.Bridges = append(t.Bridges, &topology.Bridge{UUID: "b" + id, Name: "br-ex", Node: n})
		for k := range 10 {
			p := fmt.Sprintf("%s_pod-%d-%d", called, i, k)
			t.Ports = append(t.Ports, &topology.Port{UUID: fmt.Sprintf("p%d%s", k, id), Name: p, Pod: p, Kind: topology.SwitchPort, Chassis: "c" + id, State: topology.StateUp,
				Switch: &topology.Ref{UUID: "s" + id, Name: n}, MACs: []string{"0a:58:0a:f4:00:01"}, Addresses: []string{"10.244.0.1", "fd00:10:244::1"},
				Options: map[string]string{"requested-chassis": n}, ExternalIDs: map[string]string{"namespace": called, "pod": "true"}})
		}
		for k := range i {
			t.Tunnels = append(t.Tunnels, &topology.Tunnel{UUID: fmt.Sprintf("t%d%s", k, id), Name: n, Chassis: []string{"c" + id, n}, Types: []string{"geneve"}, State: topology.StateUp})
		}
	}
	return t
}

func written(t *testing.T, p *Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func report(t *topology.Topology, called string) *Page {
	m := picture.Topology(t)
	return &Page{
		Title: called, Sources: []string{called}, Time: called, Notes: []string{called}, Map: m, Topology: t, Trace: called,
		Findings: &Findings{called, []Finding{{Bad, called, called, []string{called}, called, called, called, called, []string{called}}}},
		Paths: []Path{{
			Title: called, Strip: called, From: called, To: called, Verdict: called, Sentence: called, Cause: called, Facts: []Fact{{called, called}}, Picture: m, Next: []string{called},
			Rules: []Rule{{called, called, Match{called, []Part{{1, 3}}}, []string{called}}},
			Ways:  []Way{{called, []Hop{{called, true, []Step{{called, called, Match{called, []Part{{1, 3}}}, called, called, called, called, []string{called}, true, true}}}, {Title: called}}, called, Bad}},
		}},
		Reach: m, Changes: &Changes{m, m, called, called, []string{called}},
		Live: &Live{called, []Moment{{called, called}}, true},
	}
}

// A page of fifty nodes is small, and so are those with endless names.
func TestSize(t *testing.T) {
	for _, called := range []string{"shop", strings.Repeat("w", 4000)} {
		if size := len(written(t, report(deployment(50, called), called))); called == "shop" && size > 2<<20 {
			t.Errorf("%d bytes", size)
		} else {
			t.Logf("%d bytes", size)
		}
	}
}

var (
	policy   = regexp.MustCompile(`content="(default-src[^"]*)"`)
	inline   = regexp.MustCompile(`(?s)<(script|style)>(.*?)</`)
	loads    = regexp.MustCompile(`(?i)\s(?:src|srcset|action|style|on[a-z]+)=|href="[^#]|@import|url\(`)
	embedded = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
)

// The policy allows the script and the style sheet that are there, and nothing else; nothing is loaded from anywhere.
func TestPolicy(t *testing.T) {
	text := written(t, report(deployment(3, "shop"), "shop"))
	allowed := policy.FindStringSubmatch(text)
	if allowed == nil || !strings.HasPrefix(allowed[1], "default-src 'none'; ") || strings.Contains(allowed[1], "unsafe") {
		t.Fatalf("policy %q", allowed)
	}
	parts := inline.FindAllStringSubmatch(text, -1)
	if len(parts) != 3 {
		t.Errorf("%d scripts and style sheets", len(parts))
	}
	for _, m := range parts {
		sum := sha256.Sum256([]byte(m[2]))
		_, sources, _ := strings.Cut(allowed[1], m[1]+"-src ")
		sources, _, _ = strings.Cut(sources, ";")
		if !slices.Contains(strings.Fields(sources), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy does not allow the %s of the page", m[1])
		}
		text = strings.Replace(text, m[2], "", 1)
	}
	if m := loads.FindString(text); m != "" {
		t.Errorf("the page has %q", m)
	}
}

// Whatever things are called, it is text.
func TestHostileNames(t *testing.T) {
	for _, evil := range []string{
		"</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", `"><svg onload="alert(1)`, "\u202egnp.exe", "\x1b[2J", "a\u2028b", "</style>", "--><!--", "&lt;script&gt;",
	} {
		text := written(t, report(deployment(3, evil), evil))
		plain := written(t, report(deployment(3, "shop"), "shop"))
		for _, mark := range []string{"<script", "</script", "<style", "</style", "<img", "<svg", "<!--"} {
			if got, want := strings.Count(text, mark), strings.Count(plain, mark); got != want {
				t.Errorf("%q: %d of %s, want %d", evil, got, mark, want)
			}
		}
		if strings.ContainsAny(text, "\u202e\u2028\x1b") {
			t.Errorf("%q: a character that is not shown came through", evil)
		}
		var data struct{ Topology topology.Topology }
		if err := json.Unmarshal([]byte(embedded.FindStringSubmatch(text)[1]), &data); err != nil || len(data.Topology.Ports) != 30 {
			t.Errorf("%q: %d ports in the data, %v", evil, len(data.Topology.Ports), err)
		}
	}
}
