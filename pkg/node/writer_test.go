//go:build lab

package node_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// What is written from a value that was read makes an equal one: all that a link
// has is taken away and put back.
func TestWriteWhatWasRead(t *testing.T) {
	furnish(t)
	h := local(t, "node1")
	want := network(t, h)
	err := node.ChangeNetwork(h, func(w node.NetworkWriter) error {
		// In the order in which the kernel has them when they are added so: of
		// IPv6 the newest is first. Secondary addresses go before the primary
		// one, with which they would go unasked.
		var addresses, six []node.Address
		for _, a := range want.Addresses {
			switch {
			case a.Link != "va" || a.Scope != "global":
			case a.Prefix.Addr().Is6():
				six = append(six, a)
			default:
				addresses = append(addresses, a)
			}
		}
		slices.Reverse(six)
		addresses = append(addresses, six...)
		var undo []func() error
		for _, r := range want.Routes {
			through := r.Dev == "va" || slices.ContainsFunc(r.Hops, func(h node.NextHop) bool { return h.Dev == "va" })
			if !through || r.Table == 255 || r.Protocol == "kernel" {
				continue
			}
			if err := w.DeleteRoute(r); err != nil {
				t.Errorf("delete %+v: %v", r, err)
			}
			undo = append(undo, func() error { return w.AddRoute(r) })
		}
		for _, r := range want.Rules {
			if r.Priority < 50 || r.Priority > 100 || r.Goto != 0 {
				continue
			}
			if err := w.DeleteRule(r); err != nil {
				t.Errorf("delete %+v: %v", r, err)
			}
			undo = append(undo, func() error { return w.AddRule(r) })
		}
		for _, n := range want.Neighbours {
			if n.Link != "va" || n.State != "permanent" {
				continue
			}
			if err := w.DeleteNeighbour(n); err != nil {
				t.Errorf("delete %+v: %v", n, err)
			}
			undo = append(undo, func() error { return w.AddNeighbour(n) })
		}
		for _, a := range slices.Backward(addresses) {
			if err := w.DeleteAddress(a); err != nil {
				t.Errorf("delete %+v: %v", a, err)
			}
		}
		for _, a := range addresses {
			if err := w.AddAddress(a); err != nil {
				t.Errorf("add %+v: %v", a, err)
			}
			if err := w.Announce("va", a.Prefix.Addr()); err != nil {
				t.Errorf("announce %v: %v", a, err)
			}
		}
		for _, f := range undo {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, network(t, h), values); diff != "" {
		t.Errorf("after all was put back (-before +after):\n%s", diff)
	}
}
