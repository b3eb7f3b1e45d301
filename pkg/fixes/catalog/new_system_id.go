package catalog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// NewSystemID gives a cloned node a name of its own.
var NewSystemID = &fixes.Repair{
	Name: "new-system-id",
	Doc: `Give a cloned node a system-id of its own

Writes the new system-id to the switch's database and to system-id.conf, where the old one would
come back from at the next boot, and restarts ovn-controller in a way that leaves the Chassis
row to the other node. Run it on the clone, not on the node that had the name
first. It refuses for a name that another chassis has.`,
	Params: []fixes.Param{{Name: "ID", Doc: "the new system-id (default: a random UUID)", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "system-id-cloned",
	OneWay: oneNameEach,
	Plan:   planNewSystemID,
}

const oneNameEach = "two nodes cannot go by one name: there is nothing to go back to"

func planNewSystemID(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	h, sw, err := localSwitch(d)
	if err != nil {
		return nil, err
	}
	if err := notContained(h, "ovn-controller"); err != nil {
		return nil, err
	}
	old, source, err := h.ChassisName()
	if err != nil {
		return nil, err
	}
	switch {
	case old == "":
		return nil, fixes.Refuse("ovnctl fix set-chassis-key system-id", "%s has no system-id", h.Name)
	case source != "external_ids:system-id":
		return nil, fixes.Refuse("change it there and restart ovn-controller", "%s has its system-id from %s", h.Name, source)
	}
	id := a["ID"]
	if id == "" {
		id = randomUUID()
	}
	if err := validSetting(h, "system-id", id); err != nil {
		return nil, err
	}
	south, err := southOf(h)
	if err != nil {
		return nil, err
	}
	switch {
	case id == old:
		return nil, fixes.Refuse("", "%s goes by %s already", h.Name, id)
	case south.ChassisNamed(id) != nil:
		return nil, fixes.Refuse("", "another chassis goes by %s", id)
	}
	title := fmt.Sprintf("let %s go by the system-id %s", h.Name, id)
	p := &fixes.Plan{
		Title: title, Host: h.Name, NoUndo: oneNameEach,
		Touches: "all traffic of " + h.Name + ", and of the node with which it shares its name",
		Warnings: []string{
			"run this on the clone: what names " + old + " (gateways, requested-chassis) stays with the other node",
			"gateways and ports that are meant for this node have to name " + id,
		},
	}
	p.Steps = append(p.Steps, setID(sw, "system-id", id, title))
	file := path.Join(h.Dirs().Etc, "openvswitch", "system-id.conf")
	switch b, err := h.File(file); {
	case err == nil && strings.TrimSpace(string(b)) == old:
		p.Steps = append(p.Steps, fixes.File{Path: file, Before: b, After: []byte(id + "\n"), What: "write the new system-id to " + file})
	case err == nil:
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s says %s, which is left as it is", file, strings.TrimSpace(string(b))))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	service := fixes.Service{Daemon: "ovn-controller", Action: fixes.Start}
	if daemon, err := h.Daemon("ovn-controller"); err == nil && daemon.Liveness == snapshot.Answers {
		service.Action = fixes.Restart // which leaves the Chassis row to the other node
	}
	p.Steps = append(p.Steps, service)
	return p, nil
}

// randomUUID is a UUID of version 4.
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
