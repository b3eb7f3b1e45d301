//go:build lab

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/reach"
)

// TestReachTruth asks for all pairs of two deployments, with their nodes, services and the world outside, and sends every
// one of the packets.
func TestReachTruth(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
		t.Run(topology.Name, func(t *testing.T) { reachTruth(t, labtest.Shared(t, topology)) })
	}
}

func reachTruth(t *testing.T, l *lab.Lab) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	topology, c := l.Topology, &reachComparison{traceDraw: traceDraw{lab: l}}
	workloads := []string{"--from", "all", "--from", "node:*", "--to", "all", "--to", "node:*"}
	for _, family := range []string{"-4", "-6"} {
		outside, services := lab.Internet4.String(), []string{}
		for _, s := range topology.Services {
			vip := s.VIP4.String()
			if family == "-6" {
				outside, vip = lab.Internet6.String(), s.VIP6.String()
			}
			services = append(services, "--to", "ip:"+vip)
		}
		for _, protocol := range []string{"--tcp=8080", "--udp=9090", "--icmp"} {
			c.compare(ctx, t, append(workloads, "--to", "external:"+outside, protocol, family)...)
		}
		senders := []string{"--from", "all", family}
		if topology.Name == lab.OVNKubernetes().Name { // elsewhere nodes reach services without OVN
			senders = append(senders, "--from", "node:*")
		}
		c.compare(ctx, t, append(senders, services...)...)
	}
	if c.denied.Load() < 50 || c.asked.Load() < 500 {
		t.Errorf("%d pairs, of which %d were denied: too few to say anything", c.asked.Load(), c.denied.Load())
	}
	t.Logf("%d pairs, %d of them denied, %d agree with the packets", c.asked.Load(), c.denied.Load(), c.agreed.Load())
}

// A reachComparison counts pairs.
type reachComparison struct {
	traceDraw
	asked, denied, agreed atomic.Int64
}

// compare asks ovnctl once, and the lab for every pair.
func (c *reachComparison) compare(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	answer := c.reach(ctx, t, args...)
	var wg sync.WaitGroup
	turn := make(chan struct{}, 2*sideBySide)
	for _, p := range answer.Pairs {
		turn <- struct{}{}
		wg.Go(func() {
			c.pair(ctx, t, answer, p, args)
			<-turn
		})
	}
	wg.Wait()
}

// A reachAnswer is the document as a program reads it.
type reachAnswer struct {
	reach.Result
	Pairs []reach.Pair
}

func (c *reachComparison) reach(ctx context.Context, t *testing.T, args ...string) reachAnswer {
	t.Helper()
	got := c.ovnctl(ctx, "central", append([]string{"reach", "--nb", c.lab.NB(), "--sb", c.lab.SB(), "-o", "json"}, args...)...)
	var answer reachAnswer
	if err := json.Unmarshal(got.stdout, &answer); err != nil || got.code != exitOK {
		t.Fatalf("reach %s: exit %d, %v\n%s%s", strings.Join(args, " "), got.code, err, got.stdout, got.stderr)
	}
	if len(answer.Pairs) == 0 || len(answer.Pairs) != answer.Summary.Pairs || answer.Unasked != 0 {
		t.Fatalf("reach %s: %d pairs, %+v, %d not asked", strings.Join(args, " "), len(answer.Pairs), answer.Summary, answer.Unasked)
	}
	return answer
}

func (c *reachComparison) pair(ctx context.Context, t *testing.T, answer reachAnswer, p reach.Pair, args []string) {
	asked := tracePair{from: c.host(p.From), to: c.host(p.To), proto: p.Protocol, port: p.Port, v6: answer.Question.Family == 6}
	if strings.HasPrefix(p.To, "svc:") {
		asked.to, asked.where = c.service(asked), "vip"
	}
	want, err := c.truth(ctx, asked)
	// A probe that meets a denied backend tries once more and may meet another: more of them meet it in the end.
	for tries := 5; err == nil && tries > 0 && asked.where == "vip" && want == journey.Delivered && p.Outcome != want; tries-- {
		want, err = c.truth(ctx, asked)
	}
	if err != nil {
		t.Errorf("%s: %v", asked, err)
		return
	}
	c.asked.Add(1)
	if want != journey.Delivered {
		c.denied.Add(1)
	}
	if p.Outcome != want {
		why := ""
		if p.Cause != nil {
			why = fmt.Sprintf("%+v", *answer.Causes[*p.Cause])
		}
		t.Errorf("%s: packets say %s, reach %s says %s %s", asked, want, strings.Join(args, " "), p.Outcome, why)
		return
	}
	c.agreed.Add(1)
}

// host is what the lab calls a party.
func (c *reachComparison) host(name string) string {
	if node, ok := strings.CutPrefix(name, "node:"); ok {
		return node
	}
	if strings.HasPrefix(name, "external:") {
		return "internet"
	}
	return name
}

// service is the lab's name of what a pair asks of a virtual address.
func (c *reachComparison) service(p tracePair) string {
	name := strings.TrimPrefix(p.to, "svc:")
	for _, s := range c.lab.Topology.Services {
		called := []string{s.Name + fmt.Sprint(":", p.port), fmt.Sprint(s.VIP4, ":", p.port), fmt.Sprint("[", s.VIP6, "]:", p.port)}
		for _, x := range called {
			if name == x && s.Port == p.port && s.Protocol == p.proto {
				return s.Name
			}
		}
	}
	return name
}

// TestReachScripts runs the scripts about reach against a lab.
func TestReachScripts(t *testing.T) {
	saved := t.TempDir()
	if err := labtest.Shared(t, lab.OVNKubernetes()).Backup(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	runScripts(t, "testdata/reach*.txtar", func(env *testscript.Env) error {
		return os.Symlink(saved, filepath.Join(env.WorkDir, "net"))
	})
}
