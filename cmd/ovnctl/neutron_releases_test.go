//go:build releases

package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/neutron"
	"github.com/ovnctl/ovnctl/internal/lab/replay"
)

// neutronPackets are sent in the deployment of package neutron: what its objects say becomes of each, and trace's arguments.
const neutronPackets = `
delivered vm:batch vm:store --icmp
delivered vm:batch vm:store --tcp=8080
delivered vm:batch vm:store --tcp=8080 -6
lost      vm:batch vm:store --tcp=9090
lost      vm:batch vm:store --icmp -6
delivered vm:web   vm:db    --icmp
delivered vm:web   vm:db    --tcp=9090
lost      vm:web   vm:db    --tcp=8080
lost      vm:db    vm:batch --icmp
delivered vm:db    vm:web   --tcp=8080
delivered vm:store vm:batch --icmp
delivered vm:store vm:db    --tcp=9090
lost      vm:store vm:batch --udp=9090
delivered vm:web   external:203.0.113.10 --tcp=8080
delivered vm:batch external:203.0.113.10 --icmp
lost      vm:web   external:2001:db8:cafe::10 --tcp=8080 -6
delivered vm:web   10.1.1.1 --icmp
delivered vm:store 10.1.1.1 --icmp
delivered vm:batch 198.51.100.11 --tcp=8080
lost      vm:batch 198.51.100.11 --tcp=9090
delivered vm:batch 198.51.100.12 --tcp=8080
delivered external:203.0.113.10 198.51.100.11 --tcp=8080
lost      external:203.0.113.10 198.51.100.11 --tcp=9090
delivered external:203.0.113.10 198.51.100.11 --icmp
delivered external:203.0.113.10 198.51.100.12 --tcp=8080
delivered external:198.51.100.1 198.51.100.12 --tcp=8080
delivered external:203.0.113.10 198.51.100.10 --icmp
`

// TestReleasesNeutron has the real neutron-server write a deployment, brings it up again, and holds trace and doctor to what
// packets do in it.
func TestReleasesNeutron(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	written := t.TempDir()
	start := time.Now()
	if err := neutron.Write(ctx, written); err != nil {
		t.Fatal(err)
	}
	t.Logf("neutron-server wrote it in %.0f s", time.Since(start).Seconds())
	topology, release, err := replay.Load(ctx, written)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Up(ctx, topology, lab.Options{Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	d := &replayed{lab: l, sources: []string{"--nb", l.NB(), "--node-exec", l.Dir + "/enter {hostname}"}}
	var packets []sentPacket
	for line := range strings.Lines(neutronPackets) {
		if words := strings.Fields(line); len(words) > 2 {
			packets = append(packets, sentPacket{args: words[1:], lost: words[0] == "lost"})
		}
	}
	d.checkPackets(ctx, t, packets, nil)
	if d.as != d.sent {
		t.Errorf("%d of %d packets do what the objects say", d.as, d.sent)
	}
	var nodes sync.WaitGroup
	for _, n := range topology.Nodes {
		nodes.Go(func() { d.checkDoctor(ctx, t, n.Name) })
	}
	nodes.Wait()
}
