//go:build lab

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
)

// A costQuestion is what an operator asks of a deployment: the arguments of ovnctl, and what the classic tools take for it, if anything.
type costQuestion struct {
	name  string
	ours  []string
	other task
}

// BenchmarkCost asks deployments of 5, 50 and 250 nodes, none of which can be read: a part is named as Cost/50-nodes. The largest
// takes 10 GB of memory, and minutes to build. With OVNCTL_DRAW, docs/pictures gets the curves and their figures.
func BenchmarkCost(b *testing.B) {
	program := buildOvnctl(b)
	var curves []curve
	for _, size := range []scale.Size{{Nodes: 5, Pods: 40, Services: 200, NodePorts: 2, Policies: 10}, scale.Small, scale.Large} {
		b.Run(fmt.Sprintf("%d-nodes", size.Nodes), func(b *testing.B) {
			d := scale.Start(b, size)
			for b.Loop() {
				for i, q := range questions(b, d) {
					if len(curves) == i {
						curves = append(curves, curve{Name: q.name})
					}
					c, name := &curves[i], strings.ReplaceAll(q.name, " ", "-")
					ours := cost(b, task{host(exitOK, slices.Concat([]string{program}, q.ours, []string{"--nb", d.NB.Remote(), "--sb", d.SB.Remote()})...)}, size.Nodes)
					c.Ours = append(c.Ours, ours)
					b.ReportMetric(ours.Seconds, name+"-s")
					b.ReportMetric(ours.MiB, name+"-MiB")
					if q.other == nil {
						continue
					}
					other := cost(b, q.other, size.Nodes)
					c.Other = append(c.Other, other)
					b.ReportMetric(ours.Seconds/other.Seconds, name+"-x-s")
					b.ReportMetric(ours.MiB/other.MiB, name+"-x-MiB")
				}
			}
			b.ReportMetric(0, "ns/op") // of all together, which says nothing
		})
	}
	if os.Getenv("OVNCTL_DRAW") == "" {
		return
	}
	figures, err := json.MarshalIndent(curves, "", "\t")
	if err != nil {
		b.Fatal(err)
	}
	for file, text := range map[string][]byte{"cost.json": append(figures, '\n'), "cost.svg": drawCurves(curves)} {
		if err := os.WriteFile(filepath.Join("../../docs/pictures", file), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// cost is the median of three runs, and the most memory of one more.
func cost(b *testing.B, t task, nodes int) point {
	b.Helper()
	var times []time.Duration
	for range 3 {
		times = append(times, t.time(b, nil, nil))
	}
	slices.Sort(times)
	return point{Nodes: nodes, Seconds: times[1].Seconds(), MiB: float64(t.peak(b)) / (1 << 20)}
}

// questions are those that the databases alone can answer.
func questions(b *testing.B, d *scale.Deployment) []costQuestion {
	b.Helper()
	from, _ := friends(d)
	pod := from.Namespace + "/" + from.Name
	nbctl := func(args ...string) command {
		return host(0, append([]string{"ovn-nbctl", "--db=" + d.NB.Remote()}, args...)...)
	}
	sbctl := func(args ...string) command {
		return host(0, append([]string{"ovn-sbctl", "--db=" + d.SB.Remote()}, args...)...)
	}
	args, microflow := between(d)
	asked := []costQuestion{
		{"topology show", []string{"topology", "show"}, task{nbctl("show"), sbctl("show")}},
		{"topology show POD", []string{"topology", "show", pod}, task{
			nbctl("list", "Logical_Switch_Port", from.Port), nbctl("show", from.Node), sbctl("find", "Port_Binding", "logical_port="+from.Port), sbctl("list", "Chassis", from.Node),
		}},
		{"get pods", []string{"get", "pods"}, task{nbctl("list", "Logical_Switch_Port"), sbctl("list", "Port_Binding")}},
		{"trace POD POD --logical", args, task{host(0, "ovn-trace", "--db="+d.SB.Remote(), "--ct=new", "--ct=new", from.Node, microflow)}},
		{"reach NAMESPACE/", []string{"reach", from.Namespace + "/", "--tcp", "8080", "--logical"}, nil},
		{"doctor", []string{"doctor"}, nil},
		{"capture", []string{"capture", "--force", filepath.Join(b.TempDir(), "capture.tar.zst")}, task{host(0, "ovsdb-client", "backup", d.NB.Remote()), host(0, "ovsdb-client", "backup", d.SB.Remote())}},
	}
	if d.Size == scale.Large { // ovn-trace would need all memory of the machine
		asked[3].other = nil
	}
	return asked
}
