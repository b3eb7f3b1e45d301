package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// openOffline opens a plain directory: a zone's nb.db and sb.db, and NODE/conf.db and so on of its nodes. A node
// whose directory has an nb.db or sb.db is a zone of its own.
func (c *Cluster) openOffline(ctx context.Context, config Config) error {
	const layout = "hint: --offline takes what `ovnctl capture` writes, a sosreport, a must-gather, a database file, or a directory with nb.db, sb.db and NODE/conf.db in it, as ovsdb-client backup writes them"
	tree := config.Saved
	if tree == nil {
		var err error
		if tree, err = archive.Open(ctx, config.Offline); err != nil {
			return fmt.Errorf("cannot read %w\n%s", err, layout)
		}
	}
	c.close = append(c.close, tree.Close)
	c.snapshot = true
	for _, note := range tree.Notes() {
		c.note(note)
	}
	for _, lost := range tree.Damage() {
		c.Problems = append(c.Problems, Problem{What: "all of the saved data", Where: tree.Path(), Err: errors.New(lost), Next: "copy it here again, or take it again"})
	}
	dirs, err := tree.Nodes()
	if err != nil {
		return err
	}
	o := &offlineDir{c: c, tree: tree, dirs: dirs, ids: map[string]string{}}
	zones, err := tree.Zones()
	if err != nil {
		return err
	}
	if len(zones) == 0 || tree.Databases() {
		zones = append([]string{"."}, zones...)
	}
	var nodes []*Node
	for _, dir := range zones {
		nodes = append(nodes, o.zone(ctx, dir)...)
	}
	o.addNodes(ctx, nodes)
	if x := tree.Index(); x != nil {
		o.addCentral(x)
		c.captured = !x.Ended.IsZero() && !x.Apart
	}
	for _, dir := range o.dirs { // those of no known chassis
		if o.central(dir) {
			c.Central = &Node{Name: dir, Host: node.Offline(tree, dir), failed: true}
			continue
		}
		c.Hosts = append(c.Hosts, &Node{Name: dir, SystemID: o.systemID(ctx, dir), Host: node.Offline(tree, dir)})
	}
	if len(c.Hosts) == 0 && len(c.Zones) == 1 && c.Zones[0].NB == nil && c.Zones[0].SB == nil && len(c.Problems) == 0 {
		return fmt.Errorf("%s: neither nb.db nor sb.db nor a node's directory with conf.db in it\n%s", tree.Path(), layout)
	}
	c.time = o.time()
	return nil
}

// An offlineDir is a directory being opened.
type offlineDir struct {
	c    *Cluster
	tree *archive.Tree
	dirs []string // of nodes not yet matched to a chassis
	read []string // the database files

	ids map[string]string // by directory, from systemID
}

// zone opens the databases in a directory and returns the nodes of their chassis, without hosts.
func (o *offlineDir) zone(ctx context.Context, dir string) []*Node {
	z := &Zone{NB: o.database(path.Join(dir, "nb.db"), northbound), SB: o.database(path.Join(dir, "sb.db"), southbound)}
	o.c.Zones = append(o.c.Zones, z)
	if z.NB != nil {
		global, err := ovsdb.Find[nb.GlobalName](ctx, z.NB)
		if err != nil {
			o.c.Problems = append(o.c.Problems, problem(northbound.name, z.NB.Origin(), err))
		} else if len(global) > 0 {
			z.Name = global[0].Name
		}
	}
	if z.SB == nil {
		return nil
	}
	rows, err := ovsdb.Find[sb.ChassisIdentity](ctx, z.SB)
	if err != nil {
		o.c.Problems = append(o.c.Problems, problem(southbound.name, z.SB.Origin(), err))
		return nil
	}
	return chassisNodes(z, rows)
}

// addNodes assigns directories to the nodes of all zones. A node that several zones know is kept from its own.
func (o *offlineDir) addNodes(ctx context.Context, nodes []*Node) {
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		switch {
		case a.remote == b.remote:
			return 0
		case a.remote:
			return 1
		}
		return -1
	})
	known := map[string]bool{}
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool {
		double := known[n.SystemID]
		known[n.SystemID] = true
		return double
	})
	for _, n := range nodes {
		o.match(n, func(dir string) bool {
			return dir == archive.SafeName(n.Name) || dir == n.Name || dir == n.SystemID
		})
	}
	for _, n := range nodes {
		if n.Host == nil {
			o.match(n, func(dir string) bool { return o.systemID(ctx, dir) == n.SystemID })
		}
		if n.Host == nil {
			err := fmt.Errorf("no directory of it in %s: %w", o.tree.Path(), node.ErrUnavailable)
			n.Host, n.far = node.Unreachable(n.Name, err), true
		}
	}
	o.c.Hosts = append(o.c.Hosts, nodes...)
}

// addCentral adds the host that only ran databases if a capture was written there.
func (o *offlineDir) addCentral(x *archive.Index) {
	for _, n := range x.Nodes {
		if n.Central {
			o.c.Central = &Node{Name: n.Name, SystemID: n.SystemID, failed: true}
			o.match(o.c.Central, func(dir string) bool { return dir == n.Dir })
			o.c.Inactive = n.Inactive
			if o.c.Central.Host == nil {
				o.c.Central = nil
			}
		}
	}
}

// central reports whether a directory is of a host with OVN's databases and no Open vSwitch.
func (o *offlineDir) central(dir string) bool {
	has := func(name string) bool { return o.tree.Has(path.Join(dir, name)) }
	if o.c.Central != nil || has("conf.db") || has("conf.json") {
		return false
	}
	for _, name := range []string{"/var/lib/ovn/ovnsb_db.db", "/etc/ovn/ovnsb_db.db", "/var/lib/openvswitch/ovn/ovnsb_db.db"} {
		if has(archive.HostFile(name)) {
			return true
		}
	}
	return false
}

// match gives a node the first directory that is its own.
func (o *offlineDir) match(n *Node, own func(dir string) bool) {
	for i, dir := range o.dirs {
		if own(dir) {
			n.Host = node.Offline(o.tree, dir)
			o.dirs = append(o.dirs[:i:i], o.dirs[i+1:]...)
			return
		}
	}
}

// systemID returns the system-id in a directory's Open_vSwitch; empty if none.
func (o *offlineDir) systemID(ctx context.Context, dir string) string {
	id, known := o.ids[dir]
	if known {
		return id
	}
	var s system
	if db, err := node.Offline(o.tree, dir).Vswitch(ctx); err == nil {
		if ovsdb.Load(ctx, db, &s) == nil {
			id = s.id("system-id")
		}
		_ = db.Close()
	}
	o.ids[dir] = id
	return id
}

func (o *offlineDir) database(name string, which central) ovsdb.Reader {
	origin := path.Join(o.tree.Path(), name)
	f, err := o.tree.File(name)
	if errors.Is(err, fs.ErrNotExist) {
		if lists := strings.TrimSuffix(name, ".db") + archive.Lists; o.tree.Has(lists) {
			return o.lists(lists, which)
		}
		o.c.note(fmt.Sprintf("no %s: no %s", which.name, origin))
		return nil
	}
	var db *ovsdb.Snapshot
	if err == nil {
		var file io.Reader = f
		if parts := o.parts(name); len(parts) > 0 {
			defer f.Close() //nolint:errcheck // only read
			file = io.MultiReader(append([]io.Reader{f}, parts...)...)
		}
		db, err = ovsdb.ParseFile(origin, file)
	}
	if err == nil && db.Name() != which.name {
		_ = db.Close()
		err = fmt.Errorf("this is a database of %s", db.Name())
	}
	if err != nil {
		o.c.Problems = append(o.c.Problems, Problem{What: which.name, Where: origin, Err: err, Next: saveAgain})
		return nil
	}
	o.read = append(o.read, name)
	if p := damaged(which.name, db); p != nil {
		o.c.Problems = append(o.c.Problems, *p)
	}
	if notice := db.Notice(); notice != "" {
		o.c.note(origin + ": " + notice)
	}
	return whole(db, o.tree.Index(), name)
}

// parts returns a database file's pieces, which a capture read one by one.
func (o *offlineDir) parts(name string) (parts []io.Reader) {
	names, _ := o.tree.List(name + partsSuffix)
	for _, part := range names {
		parts = append(parts, o.late(path.Join(name+partsSuffix, part)))
	}
	return parts
}

// lists opens a database saved only as text of its tables.
func (o *offlineDir) lists(dir string, which central) ovsdb.Reader {
	origin := path.Join(o.tree.Path(), dir)
	tables := map[string]io.Reader{}
	names, err := o.tree.List(dir)
	for _, table := range names {
		tables[table] = o.late(path.Join(dir, table))
		o.read = append(o.read, path.Join(dir, table))
	}
	var db *ovsdb.Snapshot
	if err == nil {
		db, err = ovsdb.ParseLists(which.name, origin, tables)
	}
	if err != nil {
		o.c.Problems = append(o.c.Problems, Problem{What: which.name, Where: origin, Err: err, Next: saveAgain})
		return nil
	}
	if p := damaged(which.name, db); p != nil {
		o.c.Problems = append(o.c.Problems, *p)
	}
	o.c.note(fmt.Sprintf("%s: from %d tables as text in %s", which.name, len(tables), origin))
	if which.name == southbound.name && !db.Has(logicalFlow, "") {
		return &partial{Snapshot: db, why: "it has text of the other tables alone"}
	}
	return db
}

func (o *offlineDir) late(name string) *lateFile {
	return &lateFile{open: func() (io.ReadCloser, error) { return o.tree.File(name) }}
}

// A lateFile is opened on the first read and closed at its end.
type lateFile struct {
	open func() (io.ReadCloser, error)
	file io.ReadCloser
}

func (l *lateFile) Read(b []byte) (n int, err error) {
	if l.file == nil {
		if l.file, err = l.open(); err != nil {
			return 0, err
		}
	}
	n, err = l.file.Read(b)
	if err != nil {
		_ = l.file.Close()
	}
	return n, err
}

// time returns when a capture was started, else when the newest file read was saved.
func (o *offlineDir) time() (newest time.Time) {
	if x := o.tree.Index(); x != nil && !x.Started.IsZero() {
		return x.Started
	}
	files := o.read
	dirs, _ := o.tree.Nodes()
	for _, dir := range dirs {
		files = append(files, path.Join(dir, "conf.db"), path.Join(dir, "conf.json"))
	}
	for _, name := range files {
		if t := o.tree.ModTime(name); t.After(newest) {
			newest = t
		}
	}
	return newest
}
