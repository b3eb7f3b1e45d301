package doctor

import (
	"regexp"
	"slices"
)

// classic are the ways in which evidence names its source, and the command of the
// C tools that shows it.
var classic = []struct {
	source  *regexp.Regexp
	command string
}{
	{regexp.MustCompile(`^Northbound (\w+) ([0-9a-f]{8})`), "ovn-nbctl list $1 $2"},
	{regexp.MustCompile(`^Northbound (\w+)`), "ovn-nbctl list $1"},
	{regexp.MustCompile(`^Southbound (\w+) ([0-9a-f]{8})`), "ovn-sbctl list $1 $2"},
	{regexp.MustCompile(`^Southbound (\w+)`), "ovn-sbctl list $1"},
	{regexp.MustCompile(`^(?:Open_vSwitch )?(Bridge|Port|Interface) ([\w.:@-]+)`), "ovs-vsctl list $1 $2"},
	{regexp.MustCompile(`^Open_vSwitch`), "ovs-vsctl list Open_vSwitch"},
	{regexp.MustCompile(`^file (/\S+)`), "cat $1"},
	{regexp.MustCompile(`^(?:link|address(?:es)? of link) ([\w.:@-]+)`), "ip -details address show dev $1"},
	{regexp.MustCompile(`^links`), "ip -details link show"},
	{regexp.MustCompile(`^routes?\b`), "ip route show table all"},
	{regexp.MustCompile(`^(ovs-vswitchd|ovsdb-server) (?:of \S+ )?([a-z-]+/[a-z-]+.*)`), "ovs-appctl -t $1 $2"},
	{regexp.MustCompile(`^(ovn-controller|ovn-northd) (?:of \S+ )?([a-z-]+/[a-z-]+.*)`), "ovn-appctl -t $1 $2"},
	{regexp.MustCompile(`^(cluster/status) OVN_Northbound`), "ovs-appctl -t /var/run/ovn/ovnnb_db.ctl $1 OVN_Northbound"},
	{regexp.MustCompile(`^(cluster/status) OVN_Southbound`), "ovs-appctl -t /var/run/ovn/ovnsb_db.ctl $1 OVN_Southbound"},
	{regexp.MustCompile(`^flows? of bridge ([\w.:@-]+)`), "ovs-ofctl dump-flows $1"},
	{regexp.MustCompile(`^log (/\S+)`), "tail -n 200 $1"},
}

// Commands are the classic commands that show what a report's findings rest on,
// each once. Of evidence that none of them shows there is none.
func (r Report) Commands() []string {
	out := []string{}
	var add func([]Finding)
	add = func(findings []Finding) {
		for _, f := range findings {
			if !f.Result.Fault() {
				continue
			}
			for _, e := range f.Evidence {
				if c := e.command(); c != "" && !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
			add(f.Consequences)
		}
	}
	add(r.Findings)
	return out
}

func (e Evidence) command() string {
	for _, c := range classic {
		if m := c.source.FindStringSubmatchIndex(e.Source); m != nil {
			return string(c.source.ExpandString(nil, c.command, e.Source, m))
		}
	}
	return ""
}
