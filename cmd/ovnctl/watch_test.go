package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

// A watching is ovnctl watch at work.
type watching struct {
	t      *testing.T
	mu     sync.Mutex
	events []watch.Event
	errs   strings.Builder
	end    func() (code int)
}

// startWatch runs ovnctl watch between two servers, and waits until it has their rows.
func startWatch(t *testing.T, north, south *ovsdbtest.Server, args ...string) *watching {
	t.Helper()
	w := &watching{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	out, printed := io.Pipe()
	codes := make(chan int, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e eventDocument
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.APIVersion != "ovnctl/v1" || e.DocumentKind != "Event" {
				t.Errorf("not a line of an event: %s", lines.Text())
			}
			w.mu.Lock()
			w.events = append(w.events, e.Event)
			w.mu.Unlock()
		}
	})
	go func() {
		codes <- run(ctx, append([]string{"watch", "-o", "json", "--nb", north.Remote(), "--sb", south.Remote()}, args...), strings.NewReader(""), printed, &lockedWriter{&w.mu, &w.errs})
		_ = printed.Close()
	}()
	w.end = sync.OnceValue(func() int {
		cancel()
		reading.Wait()
		return <-codes
	})
	t.Cleanup(func() { w.end() })
	w.until("both databases", func() bool { return strings.Count(w.errs.String(), "watching") == 2 })
	return w
}

// A lockedWriter writes under a lock.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (w *watching) until(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		w.mu.Lock()
		done := ok()
		w.mu.Unlock()
		if done {
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Fatalf("no sign of %s in %v\n%s", what, w.events, w.errs.String())
}

// next waits for an event, and forgets those up to it.
func (w *watching) next(kind watch.Kind, action, object, says string) watch.Event {
	w.t.Helper()
	var found watch.Event
	w.until(fmt.Sprintf("%s %s of %s: %s", kind, action, object, says), func() bool {
		for i, e := range w.events {
			if e.Kind == kind && e.Action == action && e.Object == object && strings.Contains(e.Message, says) {
				found, w.events = e, w.events[i+1:]
				return true
			}
		}
		return false
	})
	return found
}

// TestWatch makes changes in real databases, with the real ovn-northd between them, and waits for what watch says.
func TestWatch(t *testing.T) {
	t.Parallel()
	north, south := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	ovsdbtest.Northd(t, north, south)
	south.Transact(chassisRow("n1", "node1"), chassisRow("n2", "node2"),
		`{"op":"insert","table":"Chassis_Private","row":{"name":"n1"}}`, `{"op":"insert","table":"Chassis_Private","row":{"name":"n2"}}`)
	w := startWatch(t, north, south)
	claim := func(port, chassis string) {
		t.Helper()
		ref := `["set",[]]`
		if chassis != "" {
			ref = reference(south, "Chassis", `["name","==","`+chassis+`"]`)
		}
		south.Transact(`{"op":"update","table":"Port_Binding","where":[["logical_port","==","` + port + `"]],"row":{"chassis":` + ref + `}}`)
	}

	// A pod comes, is claimed, moves too often, and goes.
	north.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"node1","ports":["named-uuid","p"]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"shop_web-1","addresses":"0a:58:0a:f4:00:05 10.244.0.5","external_ids":["map",[["pod","true"],["namespace","shop"]]]}}`)
	e := w.next(watch.Port, "added", "pod shop/web-1", "on switch node1, 0a:58:0a:f4:00:05 10.244.0.5")
	if e.By != "OVN-Kubernetes" {
		t.Errorf("added by %q", e.By)
	}
	w.until("the port binding", func() bool { return reference(south, "Port_Binding", "") != "" })
	claim("shop_web-1", "n1")
	w.next(watch.Port, "claimed", "pod shop/web-1", "claimed by node1")
	claim("shop_web-1", "n2")
	w.next(watch.Port, "moved", "pod shop/web-1", "moved from node1 to node2")
	claim("shop_web-1", "")
	w.next(watch.Port, "released", "pod shop/web-1", "released by node2")
	claim("shop_web-1", "n1")
	w.next(watch.Port, "moved", "pod shop/web-1", "moved from node2 to node1, without a chassis for")
	for range 3 {
		claim("shop_web-1", "n2")
		claim("shop_web-1", "n1")
	}
	w.next(watch.Port, "flapping", "pod shop/web-1", "moved 5 times within")

	// Rules of a NetworkPolicy, and one of nobody.
	north.Transact(`{"op":"insert","table":"Port_Group","row":{"name":"a123","acls":["set",[["named-uuid","a"],["named-uuid","b"]]]}}`,
		aclRow("a", "allow-related", policyOf("shop:web")), aclRow("b", "drop", policyOf("shop:web")))
	w.next(watch.Policy, "added", "NetworkPolicy shop/web", "2 rules added")
	north.Transact(`{"op":"update","table":"ACL","where":[["action","==","drop"]],"row":{"action":"reject"}}`)
	w.next(watch.Policy, "changed", "NetworkPolicy shop/web", "1 rule changed: action from drop to reject")
	north.Transact(`{"op":"mutate","table":"Logical_Switch","where":[],"mutations":[["acls","insert",["named-uuid","c"]]]}`, aclRow("c", "drop", `["map",[]]`))
	w.next(watch.Policy, "added", "ACL on switch node1", "added: drop to-lport at priority 1001: ip4")
	north.Transact(`{"op":"update","table":"Logical_Switch","where":[],"row":{"acls":["set",[]]}}`)
	w.next(watch.Policy, "removed", "ACL on switch node1", "removed: drop")

	// A service loses its last backend.
	north.Transact(`{"op":"insert","table":"Load_Balancer","row":{"name":"lb1","vips":["map",[["10.96.0.1:80","10.244.0.5:80,10.244.0.6:80"]]]}}`)
	w.next(watch.LoadBalancer, "added", "load balancer lb1", "VIP 10.96.0.1:80 added: 2 backends")
	north.Transact(`{"op":"update","table":"Load_Balancer","where":[],"row":{"vips":["map",[["10.96.0.1:80","10.244.0.5:80"]]]}}`)
	w.next(watch.LoadBalancer, "backends", "load balancer lb1", "-10.244.0.6:80, 1 now")
	north.Transact(`{"op":"update","table":"Load_Balancer","where":[],"row":{"vips":["map",[["10.96.0.1:80",""]]]}}`)
	w.next(watch.LoadBalancer, "empty", "load balancer lb1", "lost its last backend: 10.244.0.5:80")

	// Routers.
	north.Transact(`{"op":"insert","table":"Logical_Router","row":{"name":"r1","static_routes":["named-uuid","s"],"nat":["named-uuid","n"],"policies":["named-uuid","p"]}}`,
		`{"op":"insert","table":"Logical_Router_Static_Route","uuid-name":"s","row":{"ip_prefix":"0.0.0.0/0","nexthop":"192.0.2.1"}}`,
		`{"op":"insert","table":"NAT","uuid-name":"n","row":{"type":"snat","logical_ip":"10.244.0.0/16","external_ip":"192.0.2.10"}}`,
		`{"op":"insert","table":"Logical_Router_Policy","uuid-name":"p","row":{"priority":100,"match":"ip4","action":"drop"}}`)
	w.next(watch.Routing, "added", "static route on router r1", "added: 0.0.0.0/0 via 192.0.2.1")
	north.Transact(`{"op":"update","table":"Logical_Router_Static_Route","where":[],"row":{"nexthop":"192.0.2.2"}}`)
	w.next(watch.Routing, "changed", "static route on router r1", "from 0.0.0.0/0 via 192.0.2.1 to 0.0.0.0/0 via 192.0.2.2")
	north.Transact(`{"op":"update","table":"Logical_Router","where":[],"row":{"nat":["set",[]],"policies":["set",[]]}}`)
	w.next(watch.Routing, "removed", "router policy on router r1", "removed: drop at priority 100: ip4")
	w.next(watch.Routing, "removed", "NAT on router r1", "removed: snat of 10.244.0.0/16, external address 192.0.2.10")

	// What routers learn.
	datapath := reference(south, "Datapath_Binding", `["tunnel_key","==",1]`)
	south.Transact(`{"op":"insert","table":"MAC_Binding","row":{"logical_port":"lrp0","ip":"192.0.2.1","mac":"0a:00:00:00:00:01","datapath":` + datapath + `}}`)
	w.next(watch.Neighbour, "learned", "192.0.2.1", "router port lrp0 learned its MAC address: 0a:00:00:00:00:01")
	south.Transact(`{"op":"update","table":"MAC_Binding","where":[],"row":{"mac":"0a:00:00:00:00:02"}}`)
	w.next(watch.Neighbour, "contradicted", "192.0.2.1", "0a:00:00:00:00:02, it was 0a:00:00:00:00:01")

	// Convergence.
	north.Transact(`{"op":"update","table":"NB_Global","where":[],"row":{"nb_cfg":1}}`)
	time.Sleep(200 * time.Millisecond)
	south.Transact(`{"op":"update","table":"Chassis_Private","where":[["name","==","n2"]],"row":{"nb_cfg":1}}`)
	time.Sleep(100 * time.Millisecond)
	south.Transact(`{"op":"update","table":"Chassis_Private","where":[["name","==","n1"]],"row":{"nb_cfg":1}}`)
	w.next(watch.Progress, "converged", "nb_cfg 1", "slowest chassis node1")

	south.Transact(`{"op":"delete","table":"Chassis","where":[["name","==","n2"]]}`)
	w.next(watch.Chassis, "removed", "chassis node2", "removed")
	north.Transact(`{"op":"update","table":"Logical_Switch","where":[],"row":{"ports":["set",[]]}}`)
	w.next(watch.Port, "removed", "pod shop/web-1", "removed on switch node1")

	// A server is restarted.
	south.Kill()
	w.next(watch.Database, "lost", "OVN_Southbound", "connection to")
	south.Restart()
	w.next(watch.Database, "restored", "OVN_Southbound", "again, after")
	if code := w.end(); code != exitOK {
		t.Errorf("exit code %d: %s", code, w.errs.String())
	}
}

// reference returns the UUID of the only row for which a condition holds, as OVSDB writes it; empty if there is none.
func reference(s *ovsdbtest.Server, table, where string) string {
	found := s.Transact(`{"op":"select","table":"` + table + `","columns":["_uuid"],"where":[` + where + `]}`)
	begin, end := strings.Index(found, `["uuid"`), strings.Index(found, "}")
	if begin < 0 {
		return ""
	}
	return found[begin:end]
}

func chassisRow(name, host string) string {
	return fmt.Sprintf(`{"op":"insert","table":"Chassis","row":{"name":%q,"hostname":%q,"encaps":["named-uuid","e%s"]}},
		{"op":"insert","table":"Encap","uuid-name":"e%s","row":{"type":"geneve","ip":"192.0.2.%s","chassis_name":%q}}`, name, host, name, name, name[1:], name)
}

func aclRow(id, action, ids string) string {
	return fmt.Sprintf(`{"op":"insert","table":"ACL","uuid-name":%q,"row":{"action":%q,"direction":"to-lport","priority":1001,"match":"ip4","external_ids":%s}}`, id, action, ids)
}

func policyOf(name string) string {
	return fmt.Sprintf(`["map",[["k8s.ovn.org/owner-type","NetworkPolicy"],["k8s.ovn.org/name",%q],["k8s.ovn.org/owner-controller","x"]]]`, name)
}

// TestWatchFilters shows the kinds and objects asked for, for as long as asked, and no control characters of names.
func TestWatchFilters(t *testing.T) {
	t.Parallel()
	north, south := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	var mu sync.Mutex
	var out, errs strings.Builder
	code := make(chan int)
	go func() {
		code <- run(t.Context(), []string{"watch", "a*", "--kind", "port", "--for", "3s", "--nb", north.Remote(), "--sb", south.Remote()},
			strings.NewReader(""), &lockedWriter{&mu, &out}, &lockedWriter{&mu, &errs})
	}()
	for began := false; !began; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		began = strings.Count(errs.String(), "watching") == 2
		mu.Unlock()
	}
	north.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"sw","ports":["set",[["named-uuid","p"],["named-uuid","q"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"a\u001b[31mred"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"q","row":{"name":"other"}}`,
		`{"op":"insert","table":"Load_Balancer","row":{"name":"a\u001b[31m","vips":["map",[["192.0.2.1:80",""]]]}}`)
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d: %s", c, errs.String())
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "red: added on switch sw") || strings.Contains(got, "\x1b") {
		t.Errorf("printed %q", got)
	}
	for args, want := range map[string]string{
		"--kind x":             `--kind "x": expected some of port`,
		"--offline demo":       "watch needs a live deployment",
		"-o yaml":              "expected one of text, json",
		"--for tomorrow":       "expected seconds",
		"--nb unix:/nowhere":   "unix:/nowhere",
		"--kind port --for -1": "expected seconds",
	} {
		var out, errs strings.Builder
		if run(t.Context(), append([]string{"watch"}, strings.Fields(args)...), strings.NewReader(""), &out, &errs) == exitOK || !strings.Contains(errs.String(), want) {
			t.Errorf("watch %s: %s", args, errs.String())
		}
	}
}
