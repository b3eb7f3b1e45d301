package decode

import (
	"maps"
	"testing"
)

func TestParseMeters(t *testing.T) {
	got := ParseMeters(`__string: uuid 489412a5-2446-4ccf-bcfc-78a9c4e568d5 kbps stats bands=type=drop rate=5000: 3
__string: uuid 4cd5d06c-2ed0-4c51-9e5d-6ab2a422e746 kbps burst stats bands=type=drop rate=3000 burst_size=3000: 2
__string: nothing known: 9
acl-log: 1
a: b__97e0fb6e-2953-4ee6-8e42-39c5eded956e: 4
no number: x
`)
	want := map[uint32]string{1: "meter acl-log", 2: "QoS, at most 3000 kbps, bursts of 3000 kbit", 3: "QoS, at most 5000 kbps", 4: "meter a: b"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
