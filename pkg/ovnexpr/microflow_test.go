//go:build lab

package ovnexpr

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// The packets that microflows describe, and what is said of those that describe none, are those of ovn-trace.
func TestMicroflowsAsOVNTrace(t *testing.T) {
	agreesOnMicroflows(t, labtest.Shared(t, lab.OVNKubernetes()), 300)
}

// agreesOnMicroflows asks the ovn-trace of a lab about the table, all symbols and as many matches drawn by a seed.
func agreesOnMicroflows(t *testing.T, l *lab.Lab, drawn int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	release, err := release.ParseSeries(rows(t, l, "SB_Global")[0].options()["northd_internal_version"])
	if err != nil {
		t.Fatal(err)
	}
	a := asked{t: t, ovnTrace: ovnTrace(t, l), table: SymbolsOf(Profile{Version: release}), later: []string{"flags.localnet", "flags.network_id"}}
	a.port, a.datapath, a.keys = somePort(t, l)
	for _, text := range microflows {
		a.ask(text)
	}
	for _, d := range definitions {
		a.ask(d.name + " == 0")
		a.ask(d.name)
	}
	for n := 0; n < drawn; {
		if text := g.match(2); !strings.ContainsAny(text, "$@") {
			a.ask(text)
			n++
		}
	}
	t.Logf("OVN %v, seed %d: %d microflows asked about, %d packets, %d ambiguous, %d contradictory; %d not asked, too large for ovn-trace",
		release, seed, a.all, a.packets, a.ambiguous, a.contradictory, a.many)
	if a.packets < a.all/10 || a.ambiguous < a.all/10 || a.contradictory < a.all/50 {
		t.Error("the test does not test")
	}
}

// somePort returns a port of a switch, its datapath and the keys of the ports there.
func somePort(t *testing.T, l *lab.Lab) (port, datapath string, keys map[string]uint64) {
	t.Helper()
	keys = map[string]uint64{"": 0, "none": 0}
	for _, row := range rows(t, l, "Port_Binding") {
		of := row["datapath"].([]any)[1].(string)
		if port == "" && row.text("type") == "" {
			port, datapath = row.text("logical_port"), of
		}
	}
	for _, table := range []string{"Port_Binding", "Multicast_Group"} {
		for _, row := range rows(t, l, table) {
			if name := row.text("logical_port") + row.text("name"); row["datapath"].([]any)[1].(string) == datapath {
				keys[name] = uint64(row["tunnel_key"].(float64))
			}
		}
	}
	return port, datapath, keys
}

type asked struct {
	t              *testing.T
	ovnTrace       func(datapath, text string) string
	table          *Symbols
	port, datapath string
	keys           map[string]uint64
	later          []string // symbols that point releases after that of the lab know

	n, all, packets, ambiguous, contradictory, many int
}

// ask compares the packet of a microflow, or what is said of it.
func (a *asked) ask(text string) {
	a.t.Helper()
	if a.n++; a.n%4 > 0 {
		text = "inport == " + strconv.Quote(a.port) + " && (" + text + ")"
	}
	if strings.Contains(text, "icmp4.frag_mtu") || strings.Contains(text, "icmp6.frag_mtu") || strings.Contains(text, "inner_ip4") {
		return // ovn-trace does not live through it
	}
	p, many, err := a.ours(text)
	if many {
		a.many++
		return // ovn-trace would take minutes
	}
	if err == nil && p.Uint("reg14") == 0 {
		return // nor this: 23.03 aborts without a port
	}
	theirs, _, _ := strings.Cut(a.ovnTrace(a.datapath, text), "\n")
	for _, name := range a.later {
		if strings.Contains(theirs, "`"+name+"' expecting field name") {
			return
		}
	}
	a.all++
	switch comment, ok := strings.CutPrefix(theirs, "# "); {
	case err != nil:
		a.ambiguous += count(strings.HasPrefix(err.Error(), "Constraints are ambiguous"))
		a.contradictory += count(strings.HasPrefix(err.Error(), "Constraints are contradictory"))
		if want := "error parsing flow: " + err.Error(); theirs != want {
			a.t.Errorf("%s\novn-trace: %s\nwant       %s", text, theirs, want)
		}
	case ok:
		a.packets++
		comment = strings.ReplaceAll(comment, "nw_frag=<error>", "nw_frag=0x2") // a later fragment that is none
		if want, err := packet.Parse(comment); err != nil || !want.Equal(&p) {
			a.t.Errorf("%s\novn-trace: %s (%v)\ngot        %s", text, theirs, err, &p)
		}
	default:
		a.t.Errorf("%s\novn-trace: %s\ngot        %s", text, theirs, &p)
	}
}

// ovnTrace starts the ovn-trace of a lab as a daemon, and returns a function that asks it about a microflow.
func ovnTrace(t *testing.T, l *lab.Lab) (ask func(datapath, text string) string) {
	t.Helper()
	run := func(ctx context.Context, args ...string) string {
		out, err := l.Command(ctx, "central", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	control := filepath.Join(l.Dir, fmt.Sprintf("trace-%d.ctl", time.Now().UnixNano()))
	run(t.Context(), "ovn-trace", "--detach", "--no-chdir", "--log-file=/dev/null", "--unixctl="+control, "--db="+l.SB())
	t.Cleanup(func() { run(context.Background(), "ovn-appctl", "-t", control, "exit") })
	return func(datapath, text string) string {
		return run(t.Context(), "ovn-appctl", "-t", control, "trace", datapath, text)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ours is the answer of this package, and whether there is much to multiply out.
func (a *asked) ours(text string) (p packet.Flow, many bool, err error) {
	m, err := ParseMicroflow(text, a.table, nil)
	if err != nil {
		return p, false, err
	}
	p, err = m.Flow(func(name string) (uint64, bool) { key, ok := a.keys[name]; return key, ok })
	return p, a.large(m), err
}

func (a *asked) large(m *Microflow) (many bool) {
	var err error
	defer func() { many = err != nil }()
	defer recoverSyntax(&err)
	n := &normalizer{version: a.table.version, left: maxAlternatives / 8, many: func() { panic(&SyntaxError{}) }}
	n.normal(n.simple(m.maker.annotated(m.parts, true)))
	return false
}
