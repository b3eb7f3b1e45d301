//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// BenchmarkLogicalSmall follows a connection between two pods on different nodes by the logical flows alone, there and back,
// beside ovn-trace, which follows one direction.
func BenchmarkLogicalSmall(b *testing.B) {
	program := buildOvnctl(b)
	d := scale.Start(b, scale.Small)
	from, _ := friends(d)
	_, packet := between(d)
	beside(b, logicalTrace(d, program, d.NB.Remote(), d.SB.Remote()),
		task{host(0, "ovn-trace", "--db="+d.SB.Remote(), "--ct=new", "--ct=new", from.Node, packet)}, d.SB)
}

// BenchmarkLogicalLarge follows such a connection where ovn-trace would need all memory of the machine. Beside it, a client
// that decodes nothing sends the same requests, which are recorded before.
func BenchmarkLogicalLarge(b *testing.B) {
	program := buildOvnctl(b)
	besideBare(b, scale.Start(b, scale.Large), program)
}

// besideBare reports what the trace takes, and the client that decodes nothing.
func besideBare(b *testing.B, d *scale.Deployment, program string) {
	b.Helper()
	record := &recording{}
	nb, sb := record.between(b, d.NB), record.between(b, d.SB)
	logicalTrace(d, program, nb, sb).time(b, nil, nil)
	ours := logicalTrace(d, program, d.NB.Remote(), d.SB.Remote())
	var a, z []time.Duration
	var echoSB, echoNB, other time.Duration
	for b.Loop() {
		stop := echo(b, d.NB.Socket)
		a = append(a, ours.time(b, d.SB, &echoSB))
		echoNB = max(echoNB, stop())
		stop = echo(b, d.SB.Socket)
		z = append(z, record.replay(b))
		other = max(other, stop())
	}
	reportTimes(b, a, z)
	b.ReportMetric(float64(ours.peak(b))/(1<<20), "MiB")
	b.ReportMetric(milliseconds(echoSB), "echo-ms")
	b.ReportMetric(milliseconds(echoNB), "nb-echo-ms")
	b.ReportMetric(milliseconds(other), "other-echo-ms")
	b.ReportMetric(float64(len(record.requests)), "requests")
}

// friends are two pods on different nodes, the first of which may open connections to TCP port 8080 of the other by its
// policies.
func friends(d *scale.Deployment) (from, to scale.Pod) {
	return d.Pod(11%d.Nodes, 11/d.Nodes), d.Pod(0, 0)
}

// between is the question about them as ovnctl and as ovn-trace take it.
func between(d *scale.Deployment) (args []string, microflow string) {
	from, to := friends(d)
	gateway := from.IPv4.As4()
	return []string{"trace", from.Namespace + "/" + from.Name, to.Namespace + "/" + to.Name, "--tcp", "8080", "--logical"},
		fmt.Sprintf("inport == %q && eth.src == %s && eth.dst == 0a:58:%02x:%02x:%02x:01 && ip4.src == %s && ip4.dst == %s && ip.ttl == 64 && tcp.src == 40000 && tcp.dst == 8080",
			from.Port, from.MAC, gateway[0], gateway[1], gateway[2], from.IPv4, to.IPv4)
}

func logicalTrace(d *scale.Deployment, program, nb, sb string) task {
	args, _ := between(d)
	return task{host(exitOK, slices.Concat([]string{program}, args, []string{"--nb", nb, "--sb", sb})...)}
}

// A recording is what a program asks several servers, in order.
type recording struct {
	mu       sync.Mutex
	requests []recorded
}

type recorded struct {
	socket string
	text   []byte
}

// between listens for a program that takes it for the server.
func (r *recording) between(b *testing.B, s *ovsdbtest.Server) (remote string) {
	b.Helper()
	path := filepath.Join(s.Dir, "recorded")
	l, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", s.Socket)
			if err != nil {
				b.Error(err)
				return
			}
			go r.forward(client, server, s.Socket)
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
		}
	}()
	return "unix:" + path
}

// forward passes on what a client asks.
func (r *recording) forward(client io.Reader, server net.Conn, socket string) {
	defer func() { _ = server.Close() }()
	for requests := json.NewDecoder(client); ; {
		var text json.RawMessage
		if err := requests.Decode(&text); err != nil {
			return
		}
		r.mu.Lock()
		r.requests = append(r.requests, recorded{socket, bytes.Clone(text)})
		r.mu.Unlock()
		if _, err := server.Write(text); err != nil {
			return
		}
	}
}

// end is how ovsdb-server ends a reply that is no error. In a string the quotes would be escaped.
var end = []byte(`"error":null}`)

// replay asks the same again, one request after another, and returns how long that takes.
func (r *recording) replay(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	servers := map[string]net.Conn{}
	buffer := make([]byte, 1<<20)
	for _, request := range r.requests {
		c := servers[request.socket]
		if c == nil {
			var err error
			if c, err = net.Dial("unix", request.socket); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			servers[request.socket] = c
		}
		if _, err := c.Write(request.text); err != nil {
			b.Fatal(err)
		}
		for have := 0; !bytes.HasSuffix(buffer[:have], end); {
			if have > len(buffer)/2 {
				have = copy(buffer, buffer[have-len(end):have])
			}
			n, err := c.Read(buffer[have:])
			if err != nil {
				b.Fatal(err)
			}
			have += n
		}
	}
	return time.Since(start)
}
