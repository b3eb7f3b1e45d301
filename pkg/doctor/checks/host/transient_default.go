package host

import (
	"errors"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// transient is what a host does with transient ports at its start.
type transient struct {
	*catalog.TransientDefault
	host      *snapshot.Host
	ports     []string // that are transient now
	pods      []string // of these those of pods
	unread    error    // why the ports are not known
	contained bool     // Open vSwitch runs in a container and reads no default file of the host
}

// transientDefaults calls see for each host whose default file can be read.
// Where the check cannot tell it says so.
func transientDefaults(p *doctor.Pass, see func(transient)) {
	asked := false
	for _, h := range p.Hosts {
		t := transient{host: h}
		s, err := h.Switch()
		if err == nil {
			t.ports, t.pods = catalog.TransientPorts(s)
		} else if errors.Is(err, snapshot.ErrNoSwitch) {
			continue
		} else {
			t.unread = err
		}
		contained, _, err := catalog.Contained(h)
		if err != nil && !errors.Is(err, node.ErrUnavailable) {
			p.Unknown(doctor.NodeObject(h.Name), err)
			continue
		}
		t.contained = contained
		t.TransientDefault, err = catalog.ReadTransientDefault(h)
		switch {
		case errors.Is(err, catalog.ErrOtherDistribution):
			continue
		case err != nil:
			if t.unread == nil {
				asked = true
				p.Unknown(doctor.NodeObject(h.Name), err)
			}
			continue
		}
		asked = true
		see(t)
	}
	if !asked {
		p.Skip("no host here has a default file of Open vSwitch as Debian or rpm packages have it")
	}
}

// file is the default file, and the node that it is on.
func (t transient) file(path string) (doctor.Object, []doctor.Object) {
	return doctor.Object{Kind: "file", Name: path, Node: t.host.Name}, []doctor.Object{doctor.NodeObject(t.host.Name)}
}

// line is a line of the default file.
func (t transient) line(n int) doctor.Evidence {
	return doctor.Evidence{Source: doctor.File(t.File, n), Says: strings.TrimSpace(envfile.Line(t.Text, n))}
}

// marked are the ports that are transient.
func (t transient) marked() doctor.Evidence {
	if t.unread != nil {
		return doctor.Evidence{Source: doctor.OVS("Open_vSwitch", ""), Says: "could not be read: " + t.unread.Error()}
	}
	if len(t.ports) == 0 {
		return doctor.Evidence{Source: doctor.OVS("Port", ""), Says: "none has other_config:transient=true"}
	}
	return doctor.Evidence{Source: doctor.OVS("Port", doctor.AtMost(t.ports, 5)), Says: "other_config:transient=true"}
}

const transientEffect = "the ports are still in the bridge after a reboot: the distribution gives the uplink its addresses while it belongs to the bridge, and the node has no network"
