package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// Rows of the databases that zones share, ovn-ic-nb(5) and ovn-ic-sb(5).
type (
	// TransitSwitch is a switch that all zones have.
	TransitSwitch struct {
		UUID        ovsdb.UUID        `ovsdb:"_uuid"`
		Name        string            `ovsdb:"name"`
		OtherConfig map[string]string `ovsdb:"other_config"`
	}
	// AvailabilityZone is a zone's name.
	AvailabilityZone struct {
		UUID ovsdb.UUID `ovsdb:"_uuid"`
		Name string     `ovsdb:"name"`
	}
	// ICGateway is a chassis that receives traffic from other zones.
	ICGateway struct {
		UUID     ovsdb.UUID            `ovsdb:"_uuid"`
		Name     string                `ovsdb:"name"` // Chassis.name
		Zone     ovsdb.Set[ovsdb.UUID] `ovsdb:"availability_zone"`
		Hostname string                `ovsdb:"hostname"`
	}
	// ICDatapath is the tunnel key of a transit switch.
	ICDatapath struct {
		UUID          ovsdb.UUID `ovsdb:"_uuid"`
		TransitSwitch string     `ovsdb:"transit_switch"`
		TunnelKey     int        `ovsdb:"tunnel_key"`
	}
)

// Table returns Transit_Switch.
func (TransitSwitch) Table() string { return "Transit_Switch" }

// Table returns Availability_Zone.
func (AvailabilityZone) Table() string { return "Availability_Zone" }

// Table returns Gateway.
func (ICGateway) Table() string { return "Gateway" }

// Table returns Datapath_Binding.
func (ICDatapath) Table() string { return "Datapath_Binding" }

// An Interconnect is the content of the databases that zones share.
type Interconnect struct {
	NB, SB string // their remotes
	ICNorthbound
	ICSouthbound
}

// ICNorthbound is a consistent read of OVN_IC_Northbound.
type ICNorthbound struct {
	Switches []TransitSwitch
}

// ICSouthbound is a consistent read of OVN_IC_Southbound.
type ICSouthbound struct {
	Zones     []AvailabilityZone
	Gateways  []ICGateway
	Datapaths []ICDatapath
}

// ErrNoInterconnect means that a host has no setting for where the shared databases are.
var ErrNoInterconnect = errors.New("no database of OVN interconnect is configured here")

// Interconnect reads the databases that zones share, at the addresses of the host's ovn-ic.
func (h *Host) Interconnect() (*Interconnect, error) {
	return Distil(h, "", func() (*Interconnect, error) {
		if !h.Local {
			return nil, ErrNoInterconnect
		}
		var ic Interconnect
		var keys ovsdb.TLSFiles
		processes, _ := h.Processes()
		for _, p := range processes {
			if p.Name != "ovn-ic" {
				continue
			}
			root := fmt.Sprintf("/proc/%d/root", p.PID)
			ic.NB, ic.SB = inRoot(node.Option(p.Args, "", "--ic-nb-db"), root), inRoot(node.Option(p.Args, "", "--ic-sb-db"), root)
			keys = ovsdb.TLSFiles{
				PrivateKey:  below(root, node.Option(p.Args, "-p", "--private-key")),
				Certificate: below(root, node.Option(p.Args, "-c", "--certificate")),
				CACert:      below(root, node.Option(p.Args, "-C", "--ca-cert")),
			}
		}
		ic.NB = cmp.Or(ic.NB, os.Getenv("OVN_IC_NB_DB"), h.icSocket("ovn_ic_nb_db"))
		ic.SB = cmp.Or(ic.SB, os.Getenv("OVN_IC_SB_DB"), h.icSocket("ovn_ic_sb_db"))
		if ic.NB == "" || ic.SB == "" {
			return nil, ErrNoInterconnect
		}
		for _, db := range []struct {
			name, remote string
			rows         any
		}{{"OVN_IC_Northbound", ic.NB, &ic.ICNorthbound}, {"OVN_IC_Southbound", ic.SB, &ic.ICSouthbound}} {
			client, err := ovsdb.Dial(h.d.ctx, ovsdb.Config{DB: db.name, Remotes: db.remote, TLS: keys})
			if err != nil {
				return nil, err
			}
			err = ovsdb.Load(h.d.ctx, client, db.rows)
			if err = errors.Join(err, client.Close()); err != nil {
				return nil, err
			}
		}
		return &ic, nil
	})
}

// icSocket returns the local socket of a shared database, if it exists.
func (h *Host) icSocket(name string) string {
	path := filepath.Join(h.Dirs().OVNRun, name+".sock")
	if at, err := h.Glob(path); err != nil || len(at) == 0 {
		return ""
	}
	if dir := os.Getenv("OVN_RUNDIR"); dir != "" {
		path = filepath.Join(dir, name+".sock")
	}
	return "unix:" + path
}

// inRoot returns a list of remotes with socket paths as seen by a process with that root.
func inRoot(list, root string) string {
	parts := strings.Split(list, ",")
	for i, r := range parts {
		if path, ok := strings.CutPrefix(r, "unix:"); ok {
			parts[i] = "unix:" + root + path
		}
	}
	return strings.Join(parts, ",")
}

func below(root, path string) string {
	if path == "" {
		return ""
	}
	return root + path
}
