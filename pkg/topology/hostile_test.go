package topology_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

func TestRedact(t *testing.T) {
	m := map[string]string{"PSK": "x", "tokens": "x", "key-data": "x", "port": "1"}
	got := topology.Redact(m)
	if got["PSK"] != "<hidden>" || got["tokens"] != "<hidden>" || got["key-data"] != "<hidden>" || got["port"] != "1" {
		t.Errorf("Redact(%v) = %v", m, got)
	}
	if m["PSK"] != "x" {
		t.Error("Redact changed its argument")
	}
	if topology.Redact(map[string]string{}) != nil {
		t.Error("an empty map does not come back as nil")
	}
}
