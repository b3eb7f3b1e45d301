package doctor

import "testing"

func TestRelated(t *testing.T) {
	node := func(n string) Object { return Object{Kind: "node", Name: n} }
	port := Object{Kind: "port", Name: "shop_web"}
	for _, c := range []struct {
		name     string
		f, cause Finding
		want     int
	}{
		{"one port", Finding{Object: port, Also: []Object{node("n1")}}, Finding{Object: Object{Kind: "interface", Name: "veth1", Node: "n2"}, Also: []Object{port}}, 3},
		{"one node", Finding{Object: port, Also: []Object{node("n1")}}, Finding{Object: Object{Kind: "daemon", Name: "ovs-vswitchd", Node: "n1"}}, 2},
		{"another node", Finding{Object: port, Also: []Object{node("n1")}}, Finding{Object: Object{Kind: "daemon", Name: "ovs-vswitchd", Node: "n2"}}, 0},
		{"the whole deployment", Finding{Object: port}, Finding{Object: Object{Kind: "daemon", Name: "ovn-northd"}}, 1},
		{"of no node", Finding{Object: port}, Finding{Object: node("n1")}, 0},
		{"the node is no object in common", Finding{Object: node("n1")}, Finding{Object: Object{Kind: "bridge", Name: "br-ex", Node: "n1"}, Also: []Object{node("n1")}}, 2},
	} {
		f, cause := c.f.concern(), c.cause.concern()
		if got := related(&f, &cause); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestExplain puts a consequence of a consequence under both, and nothing under what only could not be told.
func TestExplain(t *testing.T) {
	checks := []*Check{{Name: "a"}, {Name: "b", Causes: []string{"a"}}, {Name: "c", Causes: []string{"b", "a"}}}
	at := func(check string, r Result, node string) Finding {
		return Finding{Check: check, Result: r, Object: Object{Kind: "bridge", Name: check, Node: node}}
	}
	got := explain([]Finding{at("a", Error, "n1"), at("b", Warning, "n1"), at("c", Error, "n1"), at("c", Error, "n2"), at("a", Unknown, "n2")}, checks)
	if len(got) != 3 || got[0].Check != "a" || got[1].Check != "c" || got[2].Result != Unknown {
		t.Fatalf("%+v", got)
	}
	if under := got[0].Consequences; len(under) != 1 || under[0].Check != "b" || len(under[0].Consequences) != 1 || under[0].Consequences[0].Check != "c" {
		t.Errorf("%+v", under)
	}
	// CausesOn asks for an object in common, not only a node.
	checks = []*Check{{Name: "a"}, {Name: "b", CausesOn: []Kind{{Check: "a"}}}}
	shared := at("b", Error, "n1")
	shared.Also = []Object{at("a", Error, "n1").Object}
	if got := explain([]Finding{at("a", Error, "n1"), at("b", Error, "n1"), shared}, checks); len(got) != 2 || len(got[0].Consequences) != 1 || len(got[0].Consequences[0].Also) != 1 {
		t.Errorf("%+v", got)
	}
	if r := (Report{Findings: []Finding{{Result: Warning, Consequences: []Finding{{Result: Error}}}}}); r.Worst() != Error {
		t.Errorf("the worst is %s, want error", r.Worst())
	}
}
