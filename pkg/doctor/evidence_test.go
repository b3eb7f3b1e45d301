package doctor

import (
	"encoding/json"
	"testing"
)

// TestSourceJSON writes evidence as JSON and reads it again: programs see the text of a source.
func TestSourceJSON(t *testing.T) {
	e := Evidence{Source: OVS("Interface", "veth 1").On("node1"), Says: "ofport=-1"}
	text, err := json.Marshal(e)
	if want := `{"source":"Interface veth 1 on node1","says":"ofport=-1"}`; err != nil || string(text) != want {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	var read Evidence
	if err := json.Unmarshal(text, &read); err != nil || read.Source.String() != e.Source.String() {
		t.Errorf("read again: %v, %v", read, err)
	}
	if want := `ovs-vsctl list Interface 'veth 1'`; e.Source.Command != want {
		t.Errorf("command %s, want %s", e.Source.Command, want)
	}
}
