package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Databases are the OVN databases that serve a node, as the node names them.
type Databases struct {
	NB, SB string // remotes, ovsdb(7); unix sockets are the node's. Empty if there is none

	host   *remote
	relays []relay
	client bool // ovsdb-client is installed there
}

// databasesScript prints what leads to the databases: their sockets, and what the node's Open_vSwitch names.
const databasesScript = `
sockets() {
	for d in ${OVN_RUNDIR:-DIRS}; do
		for s in "$d/ovnnb_db.sock" "$d/ovnsb_db.sock"; do [ -S "$s" ] && echo "$s"; done
	done
	return 0
}
client() { command -v "${S}ovsdb-client"; }
part sockets sockets
part client client
part named $T ${S}ovsdb-client dump -f json "unix:$ovs/db.sock" Open_vSwitch Open_vSwitch _uuid external_ids
`

// FindDatabases looks for the OVN databases that serve a node, on that node, which must not be this host. In a pod only sockets
// count: the node's remotes are for programs in its network.
func FindDatabases(ctx context.Context, h Host) (*Databases, error) {
	if u, ok := h.(unreachable); ok {
		return nil, u.fail()
	}
	r, ok := h.(*remote)
	if !ok {
		return nil, fmt.Errorf("node %s: %w", h.Name(), unavailable("no way to reach its databases"))
	}
	script := strings.Replace(databasesScript, "DIRS", strings.Join(OVNRunDirs, " "), 1)
	parts, err := r.shells.run(ctx, relayScript()+script, r.Timeout/2, r.Timeout)
	if err != nil {
		return nil, r.fail(err)
	}
	d := &Databases{host: r, client: parts["client"].code == 0}
	has := strings.Fields(string(parts["relay"].out))
	d.relays = slices.DeleteFunc(slices.Clone(relays), func(x relay) bool { return !slices.Contains(has, x.name) })
	named := namedRemotes(ctx, parts["named"].out)
	sockets := strings.Fields(string(parts["sockets"].out))
	find := func(key, socket string) string {
		remote := named.setting(key)
		if remote != "" && !r.InPod {
			return remote
		}
		if i := slices.IndexFunc(sockets, func(path string) bool { return strings.HasSuffix(path, "/"+socket) }); i >= 0 {
			return "unix:" + sockets[i]
		}
		if strings.HasPrefix(remote, "unix:") {
			return remote
		}
		return "" // from within a cluster's network its addresses may be reached, but not from here
	}
	d.NB, d.SB = find("ovn-nb", "ovnnb_db.sock"), find("ovn-remote", "ovnsb_db.sock")
	return d, nil
}

// settings are the external_ids of an Open_vSwitch.
type settings map[string]string

// setting is a value; the chassis' own overrides the common one.
func (s settings) setting(key string) string {
	if own := s[key+"-"+s["system-id"]]; own != "" {
		return own
	}
	return s[key]
}

// namedRemotes reads a dump of external_ids; it is empty if there is none.
func namedRemotes(ctx context.Context, dump []byte) settings {
	db, err := ovsdb.ParseDump("Open_vSwitch", "external_ids", bytes.NewReader(dump))
	if err != nil {
		return nil
	}
	defer db.Close() //nolint:errcheck // in memory
	rows, err := ovsdb.Find[vswitch.OpenvSwitchIDs](ctx, db)
	if err != nil || len(rows) == 0 {
		return nil
	}
	return settings(rows[0].ExternalIDs)
}

// Open opens a database by remotes that the node names. Unix sockets are streamed from the node; where it has no
// program for that, the whole database is read at once with ovsdb-client.
func (d *Databases) Open(ctx context.Context, config ovsdb.Config) (ovsdb.Reader, error) {
	config.Timeout, config.On = d.host.Timeout, d.host.Name()
	socket, local := strings.CutPrefix(config.Remotes, "unix:")
	if !local {
		return ovsdb.Dial(ctx, config)
	}
	var failed error
	for _, with := range d.relays {
		config.Socket = func(ctx context.Context, path string) (net.Conn, error) { return d.host.stream(ctx, with, path) }
		client, err := ovsdb.Dial(ctx, config)
		if err == nil {
			return client, nil
		}
		if failed == nil {
			failed = err
		}
		if ctx.Err() != nil {
			return nil, failed
		}
	}
	if !d.client {
		return nil, cmp.Or(failed, d.host.fail(unavailable("none of socat, ncat, nc -U, python3, perl and ovsdb-client is installed there")))
	}
	db, err := d.host.copyOf(ctx, config.DB, socket)
	if err != nil {
		return nil, cmp.Or(failed, err)
	}
	return db, nil
}

// A Copy is a database as it was at one moment, read whole from a node.
type Copy struct {
	*ovsdb.Snapshot
	File []byte // as ovsdb-client backup writes it
	Read time.Time
}

// copyOf reads a whole database.
func (r *remote) copyOf(ctx context.Context, name, socket string) (*Copy, error) {
	if !socketPath.Get().MatchString(socket) {
		return nil, r.fail(fmt.Errorf("%q is not used as the path of a socket", socket))
	}
	script := fmt.Sprintf("part backup $T ${S}ovsdb-client backup %s %s\n", shellQuote("unix:"+socket), shellQuote(name))
	patience := max(r.Timeout, copyTime)
	read := time.Now()
	parts, err := r.shells.run(ctx, script, patience, patience)
	p, ok := parts["backup"]
	if !ok {
		if err == nil {
			err = errors.New("no reply")
		}
		return nil, r.fail(err)
	}
	if err := r.explain(p, "ovsdb-client"); err != nil {
		return nil, err
	}
	db, err := ovsdb.ParseFile("unix:"+socket+" on "+r.Name(), bytes.NewReader(p.out))
	if err != nil {
		return nil, r.fail(err)
	}
	return &Copy{Snapshot: db, File: p.out, Read: read}, nil
}

// copyTime is what reading a whole database may take at least: nothing else can be asked until it is there.
const copyTime = 30 * time.Second
