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

// NewSystemID gives a cloned node a system-id of its own.
var NewSystemID = &fixes.Repair{
	Name: "new-system-id",
	Doc: `Give a cloned node a system-id of its own

Writes the new system-id to the Open_vSwitch database and to system-id.conf, from which the old
one would return at the next boot, and restarts ovn-controller so that the Chassis row stays with
the other node. Run it on the clone, not on the node that had the system-id first. It refuses
a system-id that another chassis has.`,
	Params: []fixes.Param{{Name: "ID", Doc: "the new system-id (default: a random UUID)", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "system-id-cloned",
	OneWay: nothingToReturnTo,
	Plan:   onSwitch(planNewSystemID),
}

const nothingToReturnTo = "two nodes cannot share a system-id"

func planNewSystemID(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
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
		id = uuid()
	}
	if err := checkSetting(h, "system-id", id); err != nil {
		return nil, err
	}
	south, err := h.Southbound()
	if err != nil {
		return nil, err
	}
	switch {
	case id == old:
		return nil, fixes.Refuse("", "%s already has system-id %s", h.Name, id)
	case south.ChassisNamed(id) != nil:
		return nil, fixes.Refuse("", "another chassis has system-id %s", id)
	}
	title := fmt.Sprintf("give %s the system-id %s", h.Name, id)
	p := &fixes.Plan{
		Title: title, Host: h.Name, NoUndo: nothingToReturnTo,
		Touches: "all traffic of " + h.Name + ", and of the node that shares its system-id",
		Warnings: []string{
			"run this on the clone: whatever names " + old + " (gateways, requested-chassis) stays with the other node",
			"gateways and ports that are meant for this node must name " + id,
		},
	}
	p.Steps = append(p.Steps, setID(sw, "system-id", id, title))
	file := path.Join(h.Dirs().Etc, "openvswitch", "system-id.conf")
	switch b, err := h.File(file); {
	case err == nil && strings.TrimSpace(string(b)) == old:
		p.Steps = append(p.Steps, fixes.File{Path: file, Before: b, After: []byte(id + "\n"), What: "write the new system-id to " + file})
	case err == nil:
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s has system-id %s, and is left as it is", file, strings.TrimSpace(string(b))))
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

// uuid returns a random UUID, RFC 9562 version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
