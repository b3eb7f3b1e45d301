//go:build lab

package topology_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSecrets puts secrets into every map that a document shows.
func TestSecrets(t *testing.T) {
	n := newNetwork(t)
	n.sbctl("chassis-add n1 geneve 10.0.0.1\nset Chassis n1 other_config:auth-token=hunter2 external_ids:ipsec_psk=hunter2")
	n.nbctl(`
		ls-add sw0
		set Logical_Switch sw0 external_ids:Admin_Password=hunter2 other_config:secret=hunter2
		lsp-add sw0 p0
		set Logical_Switch_Port p0 external_ids:client-key-data=hunter2 options:token=hunter2
		lr-add r0
		set Logical_Router r0 external_ids:password=hunter2 options:psk=hunter2`)
	n.vsctl("n1", `
		set Open_vSwitch . external_ids:api-token=hunter2
		set Bridge br-int external_ids:secret=hunter2
		add-port br-int gre0
		set Port gre0 external_ids:password=hunter2
		set Interface gre0 type=gre options:remote_ip=10.9.9.9 options:psk=hunter2 external_ids:token=hunter2`)
	text, err := json.Marshal(load(t, n).Topology)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is shown: %s", text)
	}
	if got, want := strings.Count(string(text), `\u003chidden\u003e`), 13; got != want {
		t.Errorf("%d hidden values, want %d", got, want)
	}
}
