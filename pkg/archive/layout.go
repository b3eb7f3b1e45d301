package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decompress"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// A mapped store shows files under other names: those of a plain directory.
type mapped struct {
	base  store
	files map[string]source
	dirs  map[string][]string // their children
}

// A source locates a file of a mapped store.
type source struct {
	name   string
	before string // text to prepend
	rank   int    // the higher wins
}

func (m *mapped) open(name string) (io.ReadCloser, error) {
	s, ok := m.files[path.Clean(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := m.base.open(s.name)
	if err != nil || s.before == "" {
		return f, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(s.before), f), f}, nil
}

func (m *mapped) list(name string) ([]string, error) {
	children, ok := m.dirs[path.Clean(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(children), nil
}

func (m *mapped) stat(name string) (fs.FileInfo, error) {
	name = path.Clean(name)
	if s, ok := m.files[name]; ok {
		return m.base.stat(s.name)
	}
	if _, ok := m.dirs[name]; ok {
		return &packedFile{name: path.Base(name), dir: true}, nil
	}
	return nil, fs.ErrNotExist
}

func (m *mapped) close() error { return m.base.close() }

// add maps a file to a name, unless a better one has it.
func (m *mapped) add(name string, s source) {
	old, there := m.files[name]
	if there && old.rank >= s.rank {
		return
	}
	m.files[name] = s
	for ; !there && name != "."; name = path.Dir(name) {
		parent := path.Dir(name)
		if slices.Contains(m.dirs[parent], path.Base(name)) {
			return
		}
		m.dirs[parent] = append(m.dirs[parent], path.Base(name))
	}
}

// An overlay merges two stores; for a name in both, the first wins.
type overlay struct{ over, under store }

func (o *overlay) open(name string) (io.ReadCloser, error) {
	if f, err := o.over.open(name); err == nil {
		return f, nil
	}
	return o.under.open(name)
}

func (o *overlay) list(name string) ([]string, error) {
	names, err := o.under.list(name)
	more, merr := o.over.list(name)
	if err != nil && merr != nil {
		return nil, err
	}
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names, nil
}

func (o *overlay) stat(name string) (fs.FileInfo, error) {
	if fi, err := o.over.stat(name); err == nil {
		return fi, nil
	}
	return o.under.stat(name)
}

func (o *overlay) close() error { return errors.Join(o.over.close(), o.under.close()) }

// plain reports whether a store is a plain directory at its top, and whether it has databases.
func plain(s store) (any, databases bool) {
	t := &Tree{store: s}
	nodes, _ := t.Nodes()
	zones, _ := t.Zones()
	databases = t.Has(IndexFile) || t.Databases() || len(zones) > 0
	return databases || len(nodes) > 0, databases
}

// recognise presents what other tools collect as a plain directory; nil if there is nothing of that kind. of is the
// path of the whole, for names.
func recognise(s store, of string) (store, []string, error) {
	r := newRecogniser(s, of)
	if err := r.walk(".", 0); err != nil {
		return nil, nil, err
	}
	r.show()
	if len(r.files) == 0 {
		if o, ok := s.(*overlay); ok {
			_ = o.over.close()
		}
		return nil, nil, nil
	}
	return r.mapped, r.notes, nil
}

// unpackInside unpacks the archives in a directory, at any depth, with what is lost of them.
func unpackInside(ctx context.Context, d directory) (store, []string, error) {
	p, err := newPacked(ctx)
	if err != nil {
		return nil, nil, err
	}
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		names, err := d.list(dir)
		if err != nil || depth > maxDepth {
			return nil // skip what cannot be listed
		}
		for _, name := range names {
			if err := p.budget.Meet(len(name)); err != nil {
				return err
			}
			full := path.Join(dir, name)
			// A link's target is found under its own name.
			fi, err := d.root.Lstat(full)
			switch {
			case err != nil:
			case fi.IsDir():
				err = walk(full, depth+1)
			case fi.Mode().IsRegular() && isArchiveName(name):
				var f io.ReadCloser
				if f, err = d.open(full); err == nil {
					err = p.takeNested(full, p.budget.Outer(f), fi.ModTime(), 1)
					_ = f.Close()
				}
			}
			if final(err) {
				return err
			}
		}
		return nil
	}
	if err := walk(".", 0); err != nil {
		_ = p.close()
		return nil, nil, err
	}
	return &overlay{p, d}, p.damage, nil
}

func isArchiveName(name string) bool {
	return strings.Contains(withoutSuffix(name)+".", ".tar.") || slices.ContainsFunc([]string{".tar.zst", ".tar.xz", ".tar.gz", ".tar.bz2", ".tgz", ".txz", ".tar"}, func(s string) bool { return strings.HasSuffix(name, s) })
}

// A recogniser walks a source and decides what its files are.
type recogniser struct {
	*mapped
	of    string
	notes []string

	names     []string          // all files
	roots     map[string]string // host root directories, with the node's directory
	databases []foundDatabase
	lists     map[string]map[string]string // table files, by directory with side and by table
}

// A foundDatabase is an ovsdb-server file, or a directory with lists of its tables.
type foundDatabase struct {
	file, name string            // "OVN_Southbound"
	cluster    string            // cluster ID, if clustered
	lists      map[string]string // by table; nil for a file
	zone       string            // common to both databases of its zone
	size       int64
	mod        time.Time
}

func newRecogniser(s store, of string) *recogniser {
	return &recogniser{
		mapped: &mapped{base: s, files: map[string]source{}, dirs: map[string][]string{".": nil}},
		of:     of, roots: map[string]string{}, lists: map[string]map[string]string{},
	}
}

func (r *recogniser) walk(dir string, depth int) error {
	names, err := r.base.list(dir)
	if err != nil || depth > maxDepth {
		return nil
	}
	slices.Sort(names)
	if slices.Contains(names, "sos_commands") {
		r.roots[dir] = ""
	}
	for _, name := range names {
		full := path.Join(dir, name)
		if int64(len(r.names)) > maxEntries {
			return fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxEntries)
		}
		if linksToDirectory(r.base, full) {
			continue // its target is walked
		}
		fi, err := r.base.stat(full)
		switch {
		case err != nil:
		case fi.IsDir():
			if err := r.walk(full, depth+1); err != nil {
				return err
			}
		default:
			r.names = append(r.names, full)
		}
	}
	return nil
}

// linksToDirectory reports whether a name is a symbolic link to a directory or a dangling one.
func linksToDirectory(s store, name string) bool {
	switch s := s.(type) {
	case *below:
		return linksToDirectory(s.store, path.Join(s.dir, name))
	case *overlay:
		return linksToDirectory(s.under, name)
	case directory:
		fi, err := s.root.Lstat(name)
		if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
			return false
		}
		target, err := s.root.Stat(name)
		return err != nil || target.IsDir()
	case *packed:
		f := s.entries[path.Clean(name)]
		if f == nil || f.link == "" {
			return false
		}
		target, err := s.find(name)
		return err != nil || target.dir
	}
	return false
}

// show maps every known file to its place.
func (r *recogniser) show() {
	taken := map[string]bool{}
	for _, root := range slices.Sorted(keys(r.roots)) {
		name := SafeName(r.hostname(root))
		for i := 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", SafeName(r.hostname(root)), i)
		}
		taken[name] = true
		r.roots[root] = name
	}
	for _, name := range r.names {
		root := r.rootOf(name)
		node := ""
		if root != "" {
			node = r.roots[root]
			r.hostFile(node, strings.TrimPrefix(strings.TrimPrefix(name, root), "/"), name)
		}
		r.dump(node, name)
		r.koLog(name)
		r.database(name)
		r.list(name)
	}
	r.listed()
	r.zones()
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// rootOf returns the host root directory that contains a file, or "".
func (r *recogniser) rootOf(name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if _, ok := r.roots[dir]; ok {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// hostname returns a sosreport's hostname, else its directory's name.
func (r *recogniser) hostname(root string) string {
	for _, file := range []string{"sos_commands/host/hostname", "hostname", "etc/hostname", "sos_commands/host/hostname_-f", "sos_commands/general/hostname"} {
		text, err := r.start(path.Join(root, file), 256)
		line, _, _ := strings.Cut(string(text), "\n")
		if line = strings.TrimSpace(line); err == nil && line != "" {
			return line
		}
	}
	return r.called(root)
}

// called returns a name for a directory; the top has that of the whole.
func (r *recogniser) called(dir string) string {
	if dir == "." {
		return withoutSuffix(filepath.Base(r.of))
	}
	return path.Base(dir)
}

// start reads the beginning of a file, unpacked.
func (r *recogniser) start(name string, n int64) ([]byte, error) {
	f, err := r.base.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := decompress.NewReader(f, decompress.Limit{Free: n})
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, n))
	if len(text) > 0 {
		err = nil
	}
	return text, err
}

// hostFile maps a file of a host's root directory, and its Open_vSwitch.
func (r *recogniser) hostFile(node, name, from string) {
	if strings.HasPrefix(name, "sos_") {
		return
	}
	r.add(path.Join(node, HostFile(name)), source{name: from})
	for i, conf := range []string{"usr/local/etc/openvswitch/conf.db", "var/lib/openvswitch/conf.db", "etc/openvswitch/conf.db"} {
		if name == conf {
			r.add(path.Join(node, "conf.db"), source{name: from, rank: i})
		}
	}
}

const (
	ofctlOption = `(?:-O[_ -]?(OpenFlow\d+)[_ -])?(?:--\w[\w-]*[_ ])*`
	ofctlBridge = `[_ -]+(?:(?:-O[_ -]?(OpenFlow\d+)|--\w[\w-]*)[_ -])*([\w.-]+?)(?:\.txt|\.log|\.out)?$`
)

// Names of files with command output: sosreport writes an underscore for separators and a dot for a slash; people do
// likewise.
var (
	ofctlName    = pattern.New(`(?:^|[._ -])` + ofctlOption + `dump-(flows|groups|ports-desc|tlv-map|meters)` + ofctlBridge)
	showName     = pattern.New(`ofctl[_ -]` + ofctlOption + `(show)` + ofctlBridge)
	appctlName   = pattern.New(`ov[sn]-appctl_(?:-t_([\w.-]+?)_)?([a-z0-9-]+[./][a-z-]+|version|connection-status|ct-zone-list|group-table-list|meter-table-list)(?:_([\w.@-]+))?$`)
	datapathName = pattern.New(`(system|netdev)_(ovs-(?:system|netdev))$`) // sosreport treats @ as a space
)

// dumpKinds maps commands to file names. The output of show ends with that of dump-ports-desc.
var dumpKinds = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"flows": "flows", "groups": "groups", "ports-desc": "ports", "show": "ports", "tlv-map": "tlv-map", "meters": "meters"}
}}

// dump maps output of ovs-ofctl(8) and ovs-appctl(8).
func (r *recogniser) dump(node, name string) {
	base := path.Base(name)
	if node == "" {
		node = r.nodeOf(name)
	}
	m := ofctlName.Get().FindStringSubmatch(base)
	if m == nil {
		m = showName.Get().FindStringSubmatch(base)
	}
	if m != nil {
		rank := 10
		_, _ = fmt.Sscanf(cmp.Or(m[1], m[3]), "OpenFlow%d", &rank)
		if m[2] == "show" {
			rank = 0
		}
		r.add(path.Join(node, dumpKinds.Get()[m[2]]+"-"+m[4]+".txt"), source{name: name, rank: rank})
		return
	}
	if m := appctlName.Get().FindStringSubmatch(base); m != nil {
		daemon := cmp.Or(m[1], "ovs-vswitchd")
		command := strings.Replace(m[2], ".", "/", 1)
		var args []string
		if m[3] != "" {
			args = strings.Split(datapathName.Get().ReplaceAllString(m[3], "$1@$2"), "_")
		}
		r.add(path.Join(node, ControlFile(daemon, command, args)), source{name: name, before: Request(daemon, command, args) + "\n"})
	}
}

// generic are directory names that name no node.
var generic = []string{"etc", "var", "lib", "ovn", "openvswitch", "ovs", "log", "logs", "network_logs", "dumps", "flows", "tmp", "data", "central", "db"}

// nodeOf returns a file's node, from the directories that contain it.
func (r *recogniser) nodeOf(name string) string {
	dir := path.Dir(name)
	for dir != "." && slices.Contains(generic, path.Base(dir)) {
		dir = path.Dir(dir)
	}
	return SafeName(r.called(dir))
}

// koLog maps the logs that `kubectl ko log` collects from a node.
func (r *recogniser) koLog(name string) {
	_, inside, ok := strings.Cut("/"+name, "/kubectl-ko-log/")
	if !ok {
		return
	}
	parts := strings.Split(inside, "/")
	if len(parts) < 3 {
		return
	}
	for _, dir := range []string{"ovn", "openvswitch", "kube-ovn"} {
		if parts[1] == dir {
			r.add(path.Join(SafeName(parts[0]), HostFile("/var/log/"+strings.Join(parts[1:], "/"))), source{name: name})
		}
	}
}

var (
	databaseName = pattern.New(`"name":\s*"(OVN_Northbound|OVN_Southbound|Open_vSwitch)"`)
	clusterID    = pattern.New(`"cluster_id":\s*"([0-9a-f-]{36})"`)
	side         = pattern.New(`(?i)ovn(nb|sb)|(nb|sb)_?db|\b(nb|sb)\b`)
)

// database notes an ovsdb-server file.
func (r *recogniser) database(name string) {
	base := strings.ToLower(path.Base(name))
	if !strings.Contains(base, "db") && !strings.Contains(base, "conf") && len(r.names) > 1 {
		return // do not open a thousand logs
	}
	head, err := r.start(name, 4<<20)
	if err != nil || !bytes.HasPrefix(head, []byte("OVSDB ")) {
		return
	}
	m := databaseName.Get().FindSubmatch(head)
	if m == nil {
		return
	}
	d := foundDatabase{file: name, name: string(m[1])}
	if id := clusterID.Get().FindSubmatch(head[:min(len(head), 64<<10)]); id != nil && bytes.HasPrefix(head, []byte("OVSDB CLUSTER")) {
		d.cluster = string(id[1])
	}
	if fi, err := r.base.stat(name); err == nil {
		d.size, d.mod = fi.Size(), fi.ModTime()
	}
	d.zone = path.Join(path.Dir(name), strings.Trim(side.Get().ReplaceAllString(withoutSuffix(path.Base(name)), ""), "_-."))
	if root := r.rootOf(name); root != "" {
		d.zone = root
	}
	if d.name == "Open_vSwitch" {
		if r.rootOf(name) == "" {
			r.add(path.Join(r.nodeOf(name), "conf.db"), source{name: name})
		}
		return
	}
	r.databases = append(r.databases, d)
}

// listName matches a file with the output of `ovn-nbctl list TABLE`.
var listName = pattern.New(`(?:^|[._ -])ovn-(nb|sb)ctl[_ -]+(?:--[\w=-]*?[_ ]+)*list[_ -]+([A-Z]\w*?)(?:\.txt|\.log|\.out)?$`)

// list notes a list of a table.
func (r *recogniser) list(name string) {
	m := listName.Get().FindStringSubmatch(path.Base(name))
	if m == nil {
		return
	}
	key := path.Join(path.Dir(name), m[1])
	if r.lists[key] == nil {
		r.lists[key] = map[string]string{}
	}
	r.lists[key][m[2]] = name
}

var listedRow = pattern.New(`(?m)^_uuid\s*: (\S+)$`)

// listed uses lists for a database without a file. The members of a cluster share one globals row.
func (r *recogniser) listed() {
	for _, side := range []struct{ base, name, global string }{{"nb", "OVN_Northbound", "NB_Global"}, {"sb", "OVN_Southbound", "SB_Global"}} {
		if slices.ContainsFunc(r.databases, func(d foundDatabase) bool { return d.name == side.name && d.lists == nil }) {
			continue
		}
		for _, key := range slices.Sorted(keys(r.lists)) {
			global := r.lists[key][side.global]
			head, err := r.start(global, 4<<10)
			m := listedRow.Get().FindSubmatch(head)
			if path.Base(key) != side.base || err != nil || m == nil {
				continue // no list, or no reply in it
			}
			d := foundDatabase{file: path.Dir(key), name: side.name, cluster: string(m[1]), lists: r.lists[key], zone: path.Dir(key)}
			if root := r.rootOf(global); root != "" {
				d.zone = root
			}
			if fi, err := r.base.stat(global); err == nil {
				d.mod = fi.ModTime()
			}
			r.databases = append(r.databases, d)
		}
	}
}

// zones maps the Northbounds and Southbounds. Of a cluster's members, the file last written wins.
func (r *recogniser) zones() {
	var chosen []foundDatabase
	for _, d := range r.databases {
		same := slices.IndexFunc(chosen, func(c foundDatabase) bool {
			return c.name == d.name && (c.zone == d.zone || c.cluster != "" && c.cluster == d.cluster)
		})
		if same < 0 {
			chosen = append(chosen, d)
			continue
		}
		better, other := chosen[same], d
		if cmp.Or(d.mod.Compare(better.mod), cmp.Compare(d.size, better.size)) > 0 {
			better, other = d, chosen[same]
		}
		r.notes = append(r.notes, fmt.Sprintf("%s: not read, %s is a newer file of the same database", other.file, better.file))
		chosen[same] = better
	}
	zones := map[string]bool{}
	sides := map[string]int{}
	for _, d := range chosen {
		zones[d.zone] = true
		sides[d.name]++
	}
	single := sides["OVN_Northbound"] <= 1 && sides["OVN_Southbound"] <= 1
	for _, d := range chosen {
		dir := ""
		if !single {
			dir = SafeName(r.called(d.zone))
			if node := r.roots[d.zone]; node != "" {
				dir = node
			}
		}
		side := "nb"
		if d.name == "OVN_Southbound" {
			side = "sb"
		}
		if d.lists == nil {
			r.add(path.Join(dir, side+".db"), source{name: d.file})
		}
		for table, file := range d.lists {
			r.add(path.Join(dir, side+Lists, table), source{name: file})
		}
	}
}
