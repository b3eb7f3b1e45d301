package doctor

import (
	"slices"
	"testing"
)

func TestCommands(t *testing.T) {
	for source, want := range map[string]string{
		"Northbound Logical_Switch_Port 46876cda":     "ovn-nbctl list Logical_Switch_Port 46876cda",
		"Southbound MAC_Binding 0123abcd":             "ovn-sbctl list MAC_Binding 0123abcd",
		"Southbound Port_Binding":                     "ovn-sbctl list Port_Binding",
		"Interface veth1 of node1":                    "ovs-vsctl list Interface veth1",
		"file /etc/default/openvswitch-switch line 4": "cat /etc/default/openvswitch-switch",
		"link br-ex": "ip -details address show dev br-ex",
		"cluster/status OVN_Southbound on central": "ovs-appctl -t /var/run/ovn/ovnsb_db.ctl cluster/status OVN_Southbound",
		"its owner": "",
	} {
		if got := (Evidence{Source: source}).command(); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	r := Report{Findings: []Finding{
		{Result: Unknown, Evidence: []Evidence{{Source: "file /a"}}},
		{Result: Error, Evidence: []Evidence{{Source: "link x"}}, Consequences: []Finding{{Result: Error, Evidence: []Evidence{{Source: "link x"}, {Source: "file /b"}}}}},
	}}
	if got, want := r.Commands(), []string{"ip -details address show dev x", "cat /b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
