package ovs_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// saved answers with the replies that a switch of a lab gave: testdata/NAME.txt.gz holds each request as a line
// of JSON, and below it the reply. With OVNCTL_UPDATE set, a lab is asked and the file written anew.
type saved struct {
	t       *testing.T
	replies map[string]string
	lab     *lab.Lab
	order   []string
}

const separator = "\n---\n"

func savedReplies(t *testing.T, l *lab.Lab) *saved {
	s := &saved{t: t, replies: map[string]string{}, lab: l}
	path := filepath.Join("testdata", filepath.Base(t.Name())+".txt.gz")
	if l != nil {
		t.Cleanup(func() {
			var text strings.Builder
			for _, request := range s.order {
				text.WriteString(request + "\n" + s.replies[request] + separator)
			}
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, err := z.Write([]byte(text.String()))
			if err := errors.Join(err, z.Close(), os.WriteFile(path, packed.Bytes(), 0o644)); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), separator) {
		request, reply, _ := strings.Cut(part, "\n")
		s.replies[request] = reply
	}
	return s
}

func (s *saved) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	request, err := json.Marshal(append([]string{command}, args...))
	if err != nil || daemon != "ovs-vswitchd" {
		return "", fmt.Errorf("%s %s: %w", daemon, command, err)
	}
	if reply, ok := s.replies[string(request)]; ok {
		return reply, nil
	}
	if s.lab == nil {
		return "", fmt.Errorf("no saved reply to %s: OVNCTL_UPDATE=1 asks a lab", request)
	}
	reply, err := s.lab.Run(ctx, "node1", append([]string{"ovs-appctl", command}, args...)...)
	s.replies[string(request)], s.order = reply, append(s.order, string(request))
	return reply, err
}

// updating is the lab that is asked anew, nil where the saved replies are used.
func updating(t *testing.T) *lab.Lab {
	if os.Getenv("OVNCTL_UPDATE") == "" {
		return nil
	}
	l, err := lab.Up(t.Context(), lab.OVNKubernetes(), lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	if _, err := l.Probe(t.Context(), "shop_client", "internet", "icmp", 0); err != nil { // resolves the gateway
		t.Fatal(err)
	}
	return l
}

// The pods' ports on br-int of node1, in the order in which they are plugged.
const (
	web1   = "in_port=3,eth_src=0a:58:0a:f4:01:05,nw_src=10.244.1.5"
	client = "in_port=4,eth_src=0a:58:0a:f4:01:06,nw_src=10.244.1.6"
)

// TestFollow takes packets and their answers through a real node's tables, as its ovs-vswitchd explained them.
func TestFollow(t *testing.T) {
	l := updating(t)
	const gateway, web1MAC = "eth_dst=0a:58:0a:f4:01:01", "eth_dst=0a:58:0a:f4:01:05"
	tests := []struct {
		name, packet string
		want         []string // each leaf: kind, bridge, port, packet
		answer       []string // of the answer to the first leaf; empty: none is sent
	}{
		{"same-node", "tcp," + client + "," + web1MAC + ",nw_dst=10.244.1.5,tp_src=40000,tp_dst=8080,nw_ttl=64,tcp_flags=syn",
			[]string{"port br-int 3 10.244.1.6:40000 > 10.244.1.5:8080"}, []string{"port br-int 4 10.244.1.5:8080 > 10.244.1.6:40000"}},
		{"service", "dp_hash=1,tcp," + client + "," + gateway + ",nw_dst=10.96.0.11,tp_src=40000,tp_dst=80,nw_ttl=64,tcp_flags=syn",
			[]string{"port br-int 3 10.244.1.6:40000 > 10.244.1.5:8080"}, []string{"port br-int 4 10.96.0.11:80 > 10.244.1.6:40000"}},
		{"hairpin", "dp_hash=1,tcp," + web1 + "," + gateway + ",nw_dst=10.96.0.11,tp_src=40000,tp_dst=80,nw_ttl=64,tcp_flags=syn",
			[]string{"port br-int 3 169.254.169.5:40000 > 10.244.1.5:8080"}, []string{"port br-int 3 10.96.0.11:80 > 10.244.1.5:40000"}},
		{"tunnel", "icmp," + client + "," + gateway + ",nw_dst=10.244.2.5,icmp_type=8,nw_ttl=64",
			[]string{"tunnel br-int 172.30.0.12 10.244.1.6:0 > 10.244.2.5:0"}, nil},
		{"reject", "tcp," + client + "," + gateway + ",nw_dst=10.96.0.12,tp_src=40000,tp_dst=80,nw_ttl=64,tcp_flags=syn",
			[]string{"drop br-int told 1 10.244.1.6:40000 > 10.96.0.12:80"}, nil},
		{"denied", "icmp," + client + ",eth_dst=0a:58:0a:f4:01:07,nw_dst=10.244.1.7,icmp_type=8,nw_ttl=64",
			[]string{"drop br-int 10.244.1.6:0 > 10.244.1.7:0"}, nil},
		{"outside", "udp," + client + "," + gateway + ",nw_dst=203.0.113.10,tp_src=40000,tp_dst=53,nw_ttl=64",
			[]string{"port br-ex 1 172.30.0.111:40000 > 203.0.113.10:53"}, []string{"port br-int 4 203.0.113.10:53 > 10.244.1.6:40000"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ct, sw := &ovs.Conntrack{}, savedReplies(t, l)
			walk := follow(t, sw, ct, ovs.Start{Bridge: "br-int", Packet: parse(t, test.packet)})
			if got := leaves(walk); !slices.Equal(got, test.want) {
				t.Fatalf("leaves %q, want %q", got, test.want)
			}
			if test.answer == nil {
				return
			}
			leaf := walk.Leaves[0]
			answer, ok := ovs.Reply(leaf.Packet)
			if !ok {
				t.Fatalf("no answer to %s", leaf.Packet.String())
			}
			answer.SetInPort(leaf.Port)
			back := follow(t, sw, ct, ovs.Start{Bridge: leaf.Bridge, Packet: answer})
			if got := leaves(back); !slices.Equal(got, test.answer) {
				t.Errorf("leaves of the answer %q, want %q", got, test.answer)
			}
		})
	}
}

func parse(t *testing.T, text string) packet.Flow {
	t.Helper()
	p, err := packet.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func follow(t *testing.T, sw ovs.Switch, ct *ovs.Conntrack, start ovs.Start) *ovs.Walk {
	t.Helper()
	walk, err := ovs.Follow(t.Context(), sw, "node1", ct, start)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range walk.Leaves {
		if len(leaf.Steps) == 0 || leaf.Steps[0].Table != start.Table {
			t.Errorf("the way to %s does not begin in table %d", leaf.Kind, start.Table)
		}
	}
	if len(walk.Requests) == 0 || walk.Requests[0][0] != "ofproto/trace" {
		t.Errorf("requests %q", walk.Requests)
	}
	return walk
}

// leaves says in a line each where the copies of a packet ended.
func leaves(walk *ovs.Walk) []string {
	var out []string
	for _, l := range walk.Leaves {
		text := fmt.Sprintf("%s %s", l.Kind, l.Bridge)
		switch {
		case l.Kind == ovs.ToPort:
			text += fmt.Sprintf(" %d", l.Port.Number)
		case l.Kind == ovs.ToTunnel:
			text += " " + l.Remote.String()
		case len(l.Userdata) > 0:
			text += fmt.Sprintf(" told %d", len(l.Userdata))
		}
		if tuple, ok := l.Packet.Tuple(); ok {
			text += fmt.Sprintf(" %s > %s", netip.AddrPortFrom(tuple.Src, tuple.SrcPort), netip.AddrPortFrom(tuple.Dst, tuple.DstPort))
		}
		out = append(out, text)
	}
	return out
}

// A switchFunc answers every command the same way.
type switchFunc func(ctx context.Context) (string, error)

func (f switchFunc) Control(ctx context.Context, _, _ string, _ ...string) (string, error) {
	return f(ctx)
}

// TestFollowErrors has a daemon that is unreachable, refuses, or replies what cannot be parsed.
func TestFollowErrors(t *testing.T) {
	tests := []struct {
		name string
		sw   switchFunc
		want string
		is   error
	}{
		{"silent", func(context.Context) (string, error) { return "", context.DeadlineExceeded }, "ovs-vswitchd on node1 is unreachable", context.DeadlineExceeded},
		{"refuses", func(context.Context) (string, error) { return "", exec.ErrNotFound }, "ovs-vswitchd on node1", exec.ErrNotFound},
		{"nonsense", func(context.Context) (string, error) { return "Unknown bridge br-int\n", nil }, "reply to ofproto/trace", nil},
		{"empty", func(context.Context) (string, error) { return "", nil }, "reply to ofproto/trace", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ovs.Follow(t.Context(), test.sw, "node1", &ovs.Conntrack{}, ovs.Start{Bridge: "br-int", Packet: parse(t, "tcp,in_port=1")})
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
