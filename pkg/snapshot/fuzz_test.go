package snapshot

import (
	"strings"
	"testing"
)

// FuzzParseMember reads any text as what a server says of its cluster.
func FuzzParseMember(f *testing.F) {
	f.Add("1b5a\nName: OVN_Southbound\nCluster ID: 2b5a (2b5a0000-1111-2222-3333-444455556666)\nServer ID: 1b5a (1b5a0000-1111-2222-3333-444455556666)\nAddress: tcp:10.0.0.1:6644\n" +
		"Status: cluster member\nRole: leader\nTerm: 4\nLeader: self\nVote: self\n\nElection timer: 1000\nLog: [2, 9]\nEntries not yet committed: 0\nConnections: ->3b5a <-3b5a\nDisconnections: 2\n" +
		"Servers:\n    1b5a (1b5a at tcp:10.0.0.1:6644) (self) next_index=8 match_index=8\n    3b5a (3b5a at tcp:10.0.0.2:6644) next_index=9 match_index=8 last msg 325 ms ago\n")
	f.Add("Status: joining cluster\nRemotes for joining: tcp:x:1\nServers:\n    () (\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMember(text)
		if err != nil {
			return
		}
		_, _ = m.Leads(), m.Lost()
		for _, p := range m.Peers {
			if p.ID == "" {
				t.Errorf("a member without an ID in %q", text)
			}
		}
	})
}

// FuzzParseLog reads any text as a daemon's log: its lines are those of the text.
func FuzzParseLog(f *testing.F) {
	f.Add("2026-01-02T03:04:05.678Z|00001|vlog|INFO|opened log file /var/log/x.log\n2026-01-02T03:04:06.000Z|00002|util(urcu3)|EMER|a|b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range ParseLog(text) {
			if !strings.Contains(text, l.Raw) || !strings.HasSuffix(l.Raw, l.Text) || strings.Contains(l.Raw, "\n") {
				t.Errorf("%q has no line %q with %q", text, l.Raw, l.Text)
			}
		}
	})
}
