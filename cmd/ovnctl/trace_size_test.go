//go:build lab

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A sizer asks ovnctl and the lab's own ping about sizes.
type sizer struct{ *traceDraw }

func (s *sizer) sent(ctx context.Context, t *testing.T, flags ...string) (*journey.Sent, int) {
	t.Helper()
	got := s.ovnctl(ctx, "node1", append([]string{"trace", "shop/client", "shop/web-2", "--send", "-o", "json", "--nb", s.lab.NB(), "--node-exec", s.lab.Dir + "/enter {hostname}"}, flags...)...)
	sent := got.trace().Sent
	if sent == nil {
		t.Fatalf("nothing sent: %s%s", got.stdout, got.stderr)
	}
	return sent, got.code
}

// echoes reports whether an echo request of a size is answered, in three tries.
func (s *sizer) echoes(ctx context.Context, t *testing.T, v6 bool, size int) bool {
	t.Helper()
	client, _ := s.lab.Topology.Pod("shop/client")
	web, _ := s.lab.Topology.Pod("shop/web-2")
	to, headers := web.IPv4.Addr().String(), 28
	if v6 {
		to, headers = web.IPv6.Addr().String(), 48
	}
	out, err := s.lab.Run(ctx, client.Name, "ping", "-M", "do", "-c", "3", "-i", "0.2", "-W", "1", "-s", fmt.Sprint(size-headers), to)
	return err == nil && strings.Contains(out, " bytes from")
}

// The size that --size auto finds is the largest that ping gets through, whether links on the way are smaller or not; and
// a packet with a DSCP takes the way of that DSCP.
func TestSendSizes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	putInPath(t, asOvnctl+"=1 exec "+self+` "$@"`)
	ctx := t.Context()
	s := &sizer{&traceDraw{lab: labtest.Own(t, lab.OVNKubernetes(), lab.Options{})}}
	run := func(host, script string) {
		t.Helper()
		if _, err := s.lab.Run(ctx, host, "sh", "-ec", script); err != nil {
			t.Fatal(err)
		}
	}
	for _, mtu := range []int{1500, 1401} {
		run("node2", fmt.Sprintf("ip link set eth0 mtu %d", mtu))
		for _, family := range []string{"-4", "-6"} {
			v6 := family == "-6"
			sent, code := s.sent(ctx, t, "--size=auto", family)
			if !s.echoes(ctx, t, v6, sent.PathMTU) || s.echoes(ctx, t, v6, sent.PathMTU+1) {
				t.Errorf("MTU %d, %s: %d is not the largest that ping gets through", mtu, family, sent.PathMTU)
			}
			lost := mtu < 1458 // a packet of the pods' MTU and what the tunnel adds
			if lost != (sent.Result == journey.Lost) || lost != (code == exitFound) || lost != (sent.Missing >= 0) {
				t.Errorf("MTU %d, %s: exit code %d, %+v", mtu, family, code, *sent)
			}
		}
	}
	run("node2", "ip link set eth0 mtu 1500")
	// Not an ACL: some releases of OVN leave ip.dscp out of the flow.
	run("node1", "ovs-ofctl add-flow br-int priority=60000,ip,in_port="+strings.ReplaceAll(linkOfPort, "PORT", "shop_client")+",nw_tos=184,actions=drop")
	for dscp, want := range map[string]journey.SentResult{"46": journey.Lost, "0": journey.Answered} {
		sent, _ := s.sent(ctx, t, "--dscp="+dscp)
		if sent.Result != want || !sent.Agrees {
			t.Errorf("DSCP %s: %+v", dscp, *sent)
		}
	}
}
