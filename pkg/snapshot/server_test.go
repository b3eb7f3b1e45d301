package snapshot

import (
	"testing"
	"time"
)

// What servers print: a leader, one of whose members was replaced at its address; a
// member that is alone; one that joins.
const (
	leaderStatus = `8d6d
Name: OVN_Northbound
Cluster ID: 65ea (65ea0d7a-2b39-4a9d-909c-7e5dc13d46c9)
Server ID: 8d6d (8d6d77b8-17d2-47da-bbc2-423488128008)
Address: tcp:172.30.0.2:6643
Status: cluster member
Role: leader
Term: 1
Leader: self
Vote: self

Last Election started 1505 ms ago, reason: timeout
Last Election won: 1505 ms ago
Election timer: 1000
Log: [2, 17]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: <-bbda ->bbda ->e03e <-5bbb
Disconnections: 1
Servers:
    5bbb (5bbb at tcp:172.30.0.4:6643) next_index=17 match_index=16 last msg 321 ms ago
    e03e (e03e at tcp:172.30.0.4:6643) next_index=17 match_index=15 last msg 2912 ms ago
    8d6d (8d6d at tcp:172.30.0.2:6643) (self) next_index=2 match_index=16
    bbda (bbda at tcp:172.30.0.3:6643) next_index=17 match_index=16 last msg 321 ms ago
`
	aloneStatus = `7ad3
Name: OVN_Southbound
Cluster ID: b885 (b885c5bf-7928-4f84-a9f3-722c71f36e37)
Server ID: 7ad3 (7ad3b8b8-6eb6-4e76-80a5-160e25e960f9)
Address: ssl:[fd00::2]:6644
Status: disconnected from the cluster (election timeout)
Role: candidate
Term: 3
Leader: unknown
Vote: self

Election timer: 1000
Log: [2, 28]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: (->6940) (->e3b8)
Disconnections: 2
Servers:
    7ad3 (7ad3 at ssl:[fd00::2]:6644) (self) (voted for 7ad3)
    6940 (6940 at ssl:[fd00::3]:6644) last msg 5283 ms ago
    e3b8 (e3b8 at ssl:[fd00::4]:6644) last msg 11293 ms ago
`
	joiningStatus = `1c2d
Name: OVN_Southbound
Cluster ID: not yet known
Server ID: 1c2d (1c2db8b8-6eb6-4e76-80a5-160e25e960f9)
Address: ssl:172.30.0.4:6644
Status: joining cluster
Remotes for joining: ssl:172.30.0.99:6644 ssl:172.30.0.98:6644
Role: follower
Term: 0
Leader: unknown
Vote: unknown

Election timer: 1000
Log: [1, 1]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: (->0000)
Disconnections: 0
Servers:
`
)

func TestParseMember(t *testing.T) {
	leader, err := ParseMember(leaderStatus)
	if err != nil {
		t.Fatal(err)
	}
	if !leader.Leads() || leader.Lost() || leader.Joining() || leader.ElectionTimer != time.Second || leader.Entries != 15 || leader.Term != 1 ||
		leader.ClusterID != "65ea0d7a-2b39-4a9d-909c-7e5dc13d46c9" || leader.Self() == nil || leader.Self().ID != "8d6d" {
		t.Errorf("leader: %+v", leader)
	}
	for _, p := range leader.Peers {
		if want := p.ID != "e03e"; p.Connected() != want { // what answers at its address is 5bbb
			t.Errorf("member %s: connected %t, want %t", p.ID, p.Connected(), want)
		}
	}
	alone, err := ParseMember(aloneStatus)
	if err != nil {
		t.Fatal(err)
	}
	if alone.Leads() || !alone.Lost() || len(alone.Peers) != 3 || alone.Peers[1].Connected() || alone.Peers[1].Last != 5283*time.Millisecond || alone.Peers[0].Address != "ssl:[fd00::2]:6644" {
		t.Errorf("alone: %+v", alone)
	}
	joining, err := ParseMember(joiningStatus)
	if err != nil {
		t.Fatal(err)
	}
	if !joining.Joining() || joining.Lost() || len(joining.Remotes) != 2 || joining.Self() != nil {
		t.Errorf("joining: %+v", joining)
	}
	if _, err := ParseMember("unknown cluster\n"); err == nil {
		t.Error("no status, and no error")
	}
}

func TestParseLog(t *testing.T) {
	lines := ParseLog(`2026-11-21T23:57:31.335Z|00001|vlog|INFO|opened log file /var/log/ovn/ovsdb-server-sb.log
2026-11-21T23:57:31.337Z|00002|raft|INFO|term 1: elected leader by 1+ of 1 servers
not a line of it
2026-11-22T00:00:00.000Z|00001|vlog|INFO|opened log file /var/log/ovn/ovsdb-server-sb.log
2026-11-22T00:00:00.100Z|00001|vlog(monitor)|INFO|closing log file
2026-11-22T00:00:01.000Z|00002|reconnect|ERR|tcp:172.30.0.11:3456: no response to inactivity probe after 5 seconds, disconnecting
`)
	if len(lines) != 3 || lines[2].Module != "reconnect" || lines[2].Level != "ERR" || lines[2].Time.Second() != 1 {
		t.Errorf("since the last start: %+v", lines)
	}
}
