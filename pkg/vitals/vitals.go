package vitals

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Vitals are the numbers of one sample. What could not be read is missing: a number that is not known is not 0.
type Vitals struct {
	Began     time.Time  // of the sample
	Databases []Database // that were read
	Missing   []Database // that were not
	Nodes     []string   // that were read
	Unread    []string   // hosts of the sample that were not
	Progress  []Progress
	Members   []Member
	Datapaths []Datapath
	Conntrack []Conntrack
}

// A Database is one of a zone.
type Database struct{ Zone, Name string }

// A Progress is how far a zone is behind its Northbound. Clients count nb_cfg up, ovn-northd and the chassis follow.
type Progress struct {
	Zone    string
	Northd  int // by how much sb_cfg is behind nb_cfg
	Chassis []ChassisProgress
}

// A ChassisProgress is how far a chassis is behind its Southbound.
type ChassisProgress struct {
	Node   string
	Behind int // by how much nb_cfg of the chassis is behind that of the Southbound
}

// A Member is a server of a clustered database.
type Member struct {
	Node, Database string
	Cluster        string // its ID
	Term           int
	Role           string // leader, follower, candidate
	Known          int    // members of the cluster, itself included
	Connected      int    // those of them that it has a connection with, itself included
	Lag            int    // entries by which its log is behind the longest one of the members that were read

	next int // index of its log
}

// A Datapath is an OVS datapath of a node.
type Datapath struct {
	Node string
	node.Datapath
	Limit int // flows that ovs-vswitchd allows at this time; 0: unknown
}

// A Conntrack is a connection tracking table, or a ct zone in it that has a limit.
type Conntrack struct {
	Node     string
	Datapath string // "kernel" for the kernel's
	Zone     string // the logical port or router that has the ct zone, else its number; empty for the whole table
	Now, Max int
}

// Read reads a sample. It is safe beside checks on the same sample, and reads nothing again that they have read.
func Read(d *snapshot.Deployment) Vitals {
	v := Vitals{Began: d.Now()}
	for _, z := range d.Zones {
		v.zone(z)
	}
	each := make([]Vitals, len(d.Hosts))
	d.SideBySide(len(d.Hosts), func(i int) { each[i].host(d.Hosts[i]) })
	for _, h := range each {
		v.Nodes, v.Unread = append(v.Nodes, h.Nodes...), append(v.Unread, h.Unread...)
		v.Members, v.Datapaths, v.Conntrack = append(v.Members, h.Members...), append(v.Datapaths, h.Datapaths...), append(v.Conntrack, h.Conntrack...)
	}
	v.lags()
	return v
}

// zone reads the databases of a zone.
func (v *Vitals) zone(z *snapshot.Zone) {
	progress := Progress{Zone: z.Name}
	north, err := z.Northbound()
	v.database(z, "OVN_Northbound", err)
	south, err2 := z.Southbound()
	v.database(z, "OVN_Southbound", err2)
	if err != nil || err2 != nil || len(north.Globals) == 0 || len(south.Globals) == 0 {
		return
	}
	progress.Northd = max(0, north.Globals[0].NBCfg-north.Globals[0].SBCfg)
	private := snapshot.Index(south.ChassisPrivate, func(p *sb.ChassisPrivate) string { return p.Name })
	for c := range south.OwnChassis() {
		reached := c.NBCfg
		if p := private[c.Name]; p != nil {
			reached = p.NBCfg
		}
		progress.Chassis = append(progress.Chassis, ChassisProgress{cmp.Or(c.Hostname, c.Name), max(0, south.Globals[0].NBCfg-reached)})
	}
	v.Progress = append(v.Progress, progress)
}

func (v *Vitals) database(z *snapshot.Zone, name string, err error) {
	if d := (Database{z.Name, name}); err == nil {
		v.Databases = append(v.Databases, d)
	} else {
		v.Missing = append(v.Missing, d)
	}
}

// host reads a host. One that runs only databases is no node.
func (v *Vitals) host(h *snapshot.Host) {
	v.members(h)
	if h.Central() {
		return
	}
	if _, err := h.Switch(); err != nil {
		v.Unread = append(v.Unread, h.Name)
		return
	}
	v.Nodes = append(v.Nodes, h.Name)
	datapaths, err := h.Datapaths()
	if err == nil {
		limits := map[string]int{}
		if upcalls, err := h.Upcalls(); err == nil {
			for _, u := range upcalls {
				limits[u.Datapath] = u.Limit
			}
		}
		for _, d := range datapaths {
			v.Datapaths = append(v.Datapaths, Datapath{h.Name, d, limits[d.Name]})
		}
	}
	v.conntrack(h, datapaths)
}

// members reads the cluster members of a host.
func (v *Vitals) members(h *snapshot.Host) {
	servers, err := h.Servers()
	if err != nil {
		return
	}
	for _, s := range servers {
		if s.Liveness != snapshot.Answers {
			continue
		}
		m, err := h.Member(s.Database)
		if err != nil { // or it is not clustered
			continue
		}
		one := Member{Node: h.Name, Database: s.Database, Cluster: m.ClusterID, Term: m.Term, Role: m.Role, Known: len(m.Peers), next: m.Next}
		for _, p := range m.Peers {
			if p.Self || p.Connected() {
				one.Connected++
			}
		}
		v.Members = append(v.Members, one)
	}
}

// lags compares the logs of the members of each cluster.
func (v *Vitals) lags() {
	most := map[string]int{}
	for _, m := range v.Members {
		most[m.Cluster] = max(most[m.Cluster], m.next)
	}
	for i := range v.Members {
		m := &v.Members[i]
		m.Lag = most[m.Cluster] - m.next
	}
}

// conntrack reads the tables of a host, and their zones with limits. The connections of zones without are not counted: to list
// them keeps ovs-vswitchd from its work.
func (v *Vitals) conntrack(h *snapshot.Host, datapaths []node.Datapath) {
	tables, err := h.ConntrackSize()
	if err != nil {
		return
	}
	for _, t := range tables {
		v.Conntrack = append(v.Conntrack, Conntrack{Node: h.Name, Datapath: cmp.Or(t.Datapath, "kernel"), Now: t.Now, Max: t.Max})
	}
	named, err := h.CTZones()
	if err != nil {
		named = nil
	}
	names := map[int]string{}
	for name, number := range named {
		names[number] = name
	}
	for _, d := range datapaths {
		if snapshot.Idle(tables, d.Name) {
			continue
		}
		limits, err := h.ConntrackLimits(d.Name, slices.Sorted(maps.Values(named)))
		if err != nil {
			continue
		}
		for _, l := range limits {
			if l.Zone >= 0 && l.Limit > 0 {
				v.Conntrack = append(v.Conntrack, Conntrack{h.Name, d.Name, cmp.Or(names[l.Zone], strconv.Itoa(l.Zone)), l.Now, l.Limit})
			}
		}
	}
}
