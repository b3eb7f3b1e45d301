//go:build lab

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// show opens the page that a command writes.
func (b tab) show(code int, args ...string) {
	b.Helper()
	var out, errs bytes.Buffer
	if got := run(b.Context(), args, strings.NewReader(""), &out, &errs); got != code {
		b.Fatalf("%q: exit code %d, want %d: %s", args, got, code, errs.String())
	}
	b.open(out.Bytes())
}

func (b tab) open(text []byte) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "page.html")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	b.do("open", chromedp.Navigate("file://"+file))
}

// The pages of single commands look as they did when people looked at them, and can be read by all.
func TestPagesInBrowser(t *testing.T) {
	b := openTab(t)
	for _, test := range []struct {
		name    string
		code    int
		element string
		args    []string
	}{
		{"compare", exitFound, "main", []string{"compare", demo.Healthy, demo.Broken, "-o", "html"}},
		{"path-delivered", exitOK, ".sheet", []string{"--offline", demo.Healthy, "trace", "shop/client", "shop/web-2", "--tcp", "8080", "-o", "html"}},
		{"path-backends", exitOK, ".sheet", []string{"--offline", demo.Healthy, "trace", "shop/client", "svc:shop/web", "--tcp", "80", "-o", "html"}},
		{"path-lost", exitFound, ".sheet", []string{"--offline", demo.Broken, "trace", "shop/client", "203.0.113.10", "-o", "html"}},
		{"matrix", exitOK, ".sheet", []string{"--offline", demo.Healthy, "reach", "--tcp", "8080", "-o", "html"}},
		{"ovn-kubernetes", exitOK, ".sheet", []string{"--offline", "../../testdata/deployments/ovnk-1.3-ic.tar.zst", "topology", "show", "-o", "html"}},
		{"kube-ovn", exitOK, ".sheet", []string{"--offline", "../../testdata/deployments/kubeovn-1.15.24-ovn-25.03.tar.zst", "topology", "show", "-o", "html"}},
		{"neutron", exitOK, ".sheet", []string{"--offline", "../../testdata/deployments/neutron-21.0.0-ovn-23.03.tar.zst", "topology", "show", "-o", "html"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := tab{t, b.ctx}
			b.show(test.code, test.args...)
			b.is("labels that overlap", overlapping, "")
			b.accessible(test.name)
			b.looks(test.name, test.element)
		})
	}
}

// The slider of compare uncovers the later state.
func TestSliderInBrowser(t *testing.T) {
	b := openTab(t)
	b.show(exitFound, "compare", demo.Healthy, demo.Broken, "-o", "html")
	for at, want := range map[int]string{0: "inset(0px 0px 0px 100%)", 100: "inset(0px 0px 0px 0%)"} {
		b.do("the slider", chromedp.Evaluate(fmt.Sprintf(`slide.value = %d; slide.dispatchEvent(new Event("input"))`, at), nil))
		b.is("what is uncovered", `getComputedStyle(document.querySelector(".after")).clipPath`, want)
	}
}

// Names that are markup, turn the text round or never end stay text, in the page and in what it shows of them.
func TestHostileNamesInBrowser(t *testing.T) {
	b := openTab(t)
	for _, evil := range []string{`<script>window.pwned = 1</script>`, `<img src=x onerror="window.pwned = 1">`, `"><svg onload="window.pwned = 1">`, "\u202eevil", strings.Repeat("w", 4000)} {
		deployment := &topology.Topology{
			Chassis:  []*topology.Chassis{{UUID: "c", Name: "c", Hostname: evil, Node: evil}},
			Nodes:    []*topology.Node{{UUID: "n", Name: evil}},
			Switches: []*topology.Switch{{UUID: "s", Name: evil}},
			Ports: []*topology.Port{{
				UUID: "p", Name: evil, Pod: evil, Kind: topology.SwitchPort, Chassis: "c", State: topology.StateUp, Switch: &topology.Ref{UUID: "s", Name: evil},
				MACs: []string{"0a:58:0a:f4:00:01"}, Addresses: []string{"10.244.0.1"}, ExternalIDs: map[string]string{evil: evil},
			}},
		}
		p := page.Page{
			Title: evil, Sources: []string{evil}, Notes: []string{evil}, Map: picture.Topology(deployment), Topology: deployment, Trace: "ovnctl trace",
			Findings: &page.Findings{Result: evil, Faults: []page.Finding{{Level: page.Bad, Title: evil, Check: evil, Fix: evil}}},
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		b.open(out.Bytes())
		b.do("search", chromedp.SendKeys("#search", "0a:58", chromedp.ByQuery))
		b.do("the first hit", chromedp.Click("#hits button", chromedp.ByQuery))
		b.shows("#object", "10.244.0.1")
		b.press("an end", `document.querySelector("#object .end")`)
		b.shows("#ends", "from ")
		b.is("what ran", "window.pwned", "undefined")
		b.is("elements of names", `document.querySelectorAll("img, script:not([type]):not(:last-of-type)").length`, "0")
		b.do("a narrow screen", b.width(320))
		b.is("its width", `document.documentElement.scrollWidth`, "320")
		b.do("a wide one", b.width(1200))
	}
}

// The map and the report of fifty nodes with five hundred pods, from databases that the real ovn-northd wrote. Times are printed, not
// judged: the machine may be busy.
func TestLargePageInBrowser(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 50, Pods: 10, Services: 50, NodePorts: 5, Policies: 20})
	t.Setenv("OVS_RUNDIR", t.TempDir()) // no node is here
	from := []string{"--nb", d.NB.Remote(), "--sb", d.SB.Remote()}
	var out, errs bytes.Buffer
	begin := time.Now()
	if code := run(t.Context(), append([]string{"topology", "show", "-o", "svg"}, from...), strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	t.Logf("the map: %d KiB, in %.2f s", out.Len()>>10, time.Since(begin).Seconds())

	begin = time.Now()
	file := writeReport(t, exitOK, append(from, "--trace", d.Pod(0, 0).Namespace+"/"+d.Pod(0, 0).Name+" "+d.Pod(1, 0).Namespace+"/"+d.Pod(1, 0).Name)...)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	b := openTab(t)
	b.do("open", chromedp.Navigate("file://"+file))
	var loaded float64
	b.do("how long it took", chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].loadEventEnd`, &loaded))
	t.Logf("the report: %d KiB, written in %.2f s, open in %.0f ms", info.Size()>>10, took.Seconds(), loaded)
	if info.Size() > 2<<20 {
		t.Errorf("%d bytes", info.Size())
	}
	b.is("labels that overlap", overlapping, "")
	b.accessible("fifty nodes")
	b.looks("fifty-nodes", ".sheet")
}
