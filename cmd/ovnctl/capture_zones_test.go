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

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// A must-gather of OVN interconnect has a zone for each node. A packet is followed
// from one to the other by the transit switch, whose tunnel key both agree on:
//
//	pod-0 - node-0 - router - transit_switch | transit_switch - router - node-1 - pod-1
func TestMustGatherZones(t *testing.T) {
	const logs, store = "must-gather.local.7/quay-io-sha256-0815/network_logs/", "ovnk_database_store"
	y := &layout{t: t, dir: t.TempDir()}
	for i := range 2 {
		nb, sb := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
		ovsdbtest.Northd(t, nb, sb)
		interconnectZone(t, nb, sb, i, 1-i)
		for name, s := range map[string]*ovsdbtest.Server{"nbdb": nb, "sbdb": sb} {
			b, err := os.ReadFile(s.File)
			if err != nil {
				t.Fatal(err)
			}
			y.put(fmt.Sprintf("%s%s/ovnkube-node-%c_%s", logs, store, 'a'+i, name), b)
		}
	}
	y.run("tar", "-czf", logs+store+".tar.gz", "--remove-files", "-C", logs, store)
	y.run("tar", "-czf", "mg.tar.gz", "must-gather.local.7")
	way := []string{"node-0", "router", "transit_switch", "router", "node-1"}
	for _, at := range []string{"must-gather.local.7", "mg.tar.gz"} {
		for port, outcome := range map[string]string{"80": "delivered", "81": "dropped"} {
			var out, errs strings.Builder
			run(t.Context(), []string{"trace", "shop/pod-0", "shop/pod-1", "--tcp", port, "--logical", "-o", "json", "--offline", filepath.Join(y.dir, at)}, strings.NewReader(""), &out, &errs)
			var doc struct {
				Verdict struct{ Outcome, Node string }
				Forward struct{ Hops []struct{ Datapath string } }
			}
			if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
				t.Fatalf("%s: %v\n%s%s", at, err, out.String(), errs.String())
			}
			var hops []string
			for _, h := range doc.Forward.Hops {
				hops = append(hops, h.Datapath)
			}
			hops = slices.Compact(hops)
			if v := doc.Verdict; v.Outcome != outcome || v.Node != "node-1" || !slices.Equal(hops, way) {
				t.Errorf("%s: port %s: %s on %s by %q, want %s by %q\n%s", at, port, v.Outcome, v.Node, hops, outcome, way, errs.String())
			}
		}
	}
}

// interconnectZone writes what ovnkube-controller writes of a node, and of another one.
func interconnectZone(t *testing.T, nb, sb *ovsdbtest.Server, own, other int) {
	t.Helper()
	script := func(tool string, s *ovsdbtest.Server, flags, lines string) {
		t.Helper()
		text := fmt.Sprintf(strings.NewReplacer("OWN", "%[1]d", "OTHER", "%[2]d").Replace(lines), own, other)
		ovsdbtest.Run(t, "sh", "-c", tool+" --db="+s.Remote()+" --timeout=60 "+flags+strings.ReplaceAll(strings.TrimSpace(text), "\n", " -- "))
	}
	script("ovn-sbctl", sb, "", `
chassis-add id-OWN geneve 192.0.2.1OWN -- set Chassis id-OWN hostname=node-OWN
chassis-add id-OTHER geneve 192.0.2.1OTHER -- set Chassis id-OTHER hostname=node-OTHER other_config:is-remote=true
`)
	script("ovn-nbctl", nb, "--wait=sb ", `
set NB_Global . name=node-OWN
lr-add router
ls-add node-OWN
lrp-add router rtos-node-OWN 0a:58:0a:f4:0OWN:01 10.244.OWN.1/24
lsp-add node-OWN stor-node-OWN -- lsp-set-type stor-node-OWN router -- lsp-set-addresses stor-node-OWN router -- lsp-set-options stor-node-OWN router-port=rtos-node-OWN
lsp-add node-OWN shop_pod-OWN -- lsp-set-addresses shop_pod-OWN "0a:58:0a:f4:0OWN:05 10.244.OWN.5"
set Logical_Switch_Port shop_pod-OWN external_ids:pod=true external_ids:namespace=shop
ls-add transit_switch
set Logical_Switch transit_switch other_config:interconn-ts=transit_switch other_config:requested-tnl-key=16711683
lrp-add router rtots-node-OWN 0a:58:64:58:00:1OWN 100.88.0.1OWN/16
lsp-add transit_switch tstor-node-OWN -- lsp-set-type tstor-node-OWN router -- lsp-set-addresses tstor-node-OWN router
lsp-set-options tstor-node-OWN router-port=rtots-node-OWN requested-tnl-key=1OWN
lsp-add transit_switch tstor-node-OTHER -- lsp-set-type tstor-node-OTHER remote -- lsp-set-addresses tstor-node-OTHER "0a:58:64:58:00:1OTHER 100.88.0.1OTHER/16"
lsp-set-options tstor-node-OTHER requested-chassis=node-OTHER requested-tnl-key=1OTHER
acl-add node-OWN to-lport 1000 'outport == "shop_pod-OWN" && ip4 && tcp.dst == 81' drop
lr-route-add router 10.244.OTHER.0/24 100.88.0.1OTHER
`)
	script("ovn-sbctl", sb, "", `
lsp-bind shop_pod-OWN id-OWN
lsp-bind tstor-node-OTHER id-OTHER
`)
}
