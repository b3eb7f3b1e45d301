//go:build lab

package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestStrict asks the logical flows alone, no node: verdict and exit code must be those of the packets. The pairs are drawn
// from all pairs of pods, nodes, services and addresses outside by a seed, which is printed; OVNCTL_SEED sets it, and
// OVNCTL_PAIRS how many are drawn on each topology.
func TestStrict(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
		t.Run(topology.Name, func(t *testing.T) { strict(t, topology, "", drawnPairs(t, 60), strictClasses...) })
	}
	// Of hosts without a port on the overlay no database says which way they send.
	t.Run("openstack", func(t *testing.T) {
		strict(t, lab.OpenStack(), "", drawnPairs(t, 60)/3, "same node", "cross node", "external", "icmp", "tcp", "udp", "ipv6") // its security group denies none of the pairs: TestDeploymentPackets has those of Neutron
	})
	t.Run("mixed-encapsulation", func(t *testing.T) {
		strict(t, lab.MixedEncapsulation(), "", drawnPairs(t, 60)/3, "same node", "cross node", "icmp", "tcp", "udp", "ipv6")
	})
}

// drawnPairs is OVNCTL_PAIRS, else a small part of what a whole run draws.
func drawnPairs(t *testing.T, otherwise int) int {
	t.Helper()
	text := os.Getenv("OVNCTL_PAIRS")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("OVNCTL_PAIRS: %q is no number of pairs", text)
	}
	return n
}

var strictClasses = append(slices.Clone(traceClasses), "underlay", "from outside")

// strict compares at least pairs pairs on a topology, in every class.
func strict(t *testing.T, topology lab.Topology, release string, pairs int, classes ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	d := &traceDraw{lab: labtest.Own(t, topology, lab.Options{Release: release}), classes: classes}
	d.agrees = d.logical
	all := slices.DeleteFunc(slices.Concat(candidates(topology), beyondPods(topology)), func(p tracePair) bool {
		return !slices.Contains(classes, p.where)
	})
	d.draw(ctx, t, all, pairs)
}

// logical traces a pair by the logical flows alone.
func (d *traceDraw) logical(ctx context.Context, t *testing.T, p tracePair, want journey.Outcome) bool {
	t.Helper()
	got := d.ovnctl(ctx, "central", append(d.arguments(p), "--logical", "-o", "json", "--nb", d.lab.NB(), "--sb", d.lab.SB())...)
	if got.says(d.again(ctx, p, want, got)) {
		return true
	}
	t.Errorf("%s: packets say %s, the logical flows (exit %d) %s\n%s", p, want, got.code, got.outcome(), got.text(d, p))
	return false
}

// beyondPods are the pairs without a pod at either end, those from outside, and those of nodes with services. What a router
// outside does with packets for the inside is not among them: no database of OVN knows.
func beyondPods(t lab.Topology) []tracePair {
	var out []tracePair
	add := func(p tracePair) {
		for _, v6 := range []bool{false, true} {
			p.v6 = v6
			for _, proto := range []string{"icmp", "tcp", "udp"} {
				p.proto, p.port = proto, 0
				if proto != "icmp" {
					p.port = lab.Ports[len(out)%len(lab.Ports)]
				}
				out = append(out, p)
			}
		}
	}
	for _, from := range t.Nodes {
		for _, to := range t.Nodes {
			if from.Name != to.Name {
				add(tracePair{from: from.Name, to: to.Name, where: "underlay", at: from.Name})
			}
		}
		add(tracePair{from: from.Name, to: "internet", where: "underlay", at: from.Name})
		add(tracePair{from: "internet", to: from.Name, where: "from outside", at: from.Name})
	}
	for _, s := range t.Services {
		out = append(out, nodePorts(t, s)...)
	}
	return out
}

// nodePorts are the pairs that reach a service by the gateways of the nodes, and where hosts lead to services by OVN, those
// of nodes with its virtual address.
func nodePorts(t lab.Topology, s lab.Service) []tracePair {
	var out []tracePair
	for _, n := range t.Nodes {
		if !n.Gateway4.IsValid() {
			continue
		}
		for _, v6 := range []bool{false, true} {
			out = append(out, tracePair{from: n.Name, to: s.Name, proto: s.Protocol, v6: v6, port: s.Port, where: "vip", at: n.Name})
			if s.NodePort == 0 {
				continue
			}
			gateway := n.Gateway4.String()
			if v6 {
				gateway = n.Gateway6.String()
			}
			out = append(out,
				tracePair{from: "internet", to: gateway, proto: s.Protocol, v6: v6, port: s.NodePort, where: "from outside", at: n.Name},
				tracePair{from: podName(t.Pods[0]), to: gateway, proto: s.Protocol, v6: v6, port: s.NodePort, where: "vip", at: n.Name})
		}
	}
	return out
}
