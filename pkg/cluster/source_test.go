package cluster

import (
	"encoding/json"
	"testing"
)

// Source is a contract: exactly these names.
func TestSourceJSON(t *testing.T) {
	b, err := json.Marshal(Source{NB: "a", SB: "b", Nodes: []string{}, Time: "c"})
	if want := `{"nb":"a","sb":"b","nodes":[],"time":"c","stale":false}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}
