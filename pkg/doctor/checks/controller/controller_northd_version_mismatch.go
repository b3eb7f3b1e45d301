package controller

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ControllerNorthdVersionMismatch = &doctor.Check{
	Name:     "controller-northd-version-mismatch",
	Category: "ovn-controller",
	Doc: `ovn-controller stands still because ovn-northd is of another version

With external_ids:ovn-match-northd-version=true ovn-controller processes nothing until both have the same
internal version. That is meant for the minutes of an upgrade.`,
	Causes: []string{},
	Run: func(p *doctor.Pass) {
		p.Chassis(func(c *doctor.Chassis) {
			value, key := c.OVS.Setting("ovn-match-northd-version", c.SystemID)
			if value != "true" {
				return
			}
			s, err := c.NeedSouthbound()
			if err != nil {
				p.Unknown(doctor.NodeObject(c.Host.Name), err)
				return
			}
			if len(s.Globals) == 0 {
				return
			}
			theirs := s.Globals[0].Options["northd_internal_version"]
			d, err := c.Daemon("ovn-controller")
			if err != nil {
				p.Unknown(doctor.NodeObject(c.Host.Name), err)
				return
			}
			if theirs == "" || d.Liveness != snapshot.Answers {
				return
			}
			release, _, _ := strings.Cut(theirs, "-")
			logged := mismatchLogged(c.Host, theirs)
			if release == d.Version && logged == "" {
				return
			}
			f := doctor.Finding{
				Object: doctor.DaemonObject(c.Host, "ovn-controller"),
				Also:   []doctor.Object{doctor.NodeObject(c.Host.Name)},
				Title:  fmt.Sprintf("ovn-controller of %s stands still: it is %s, and ovn-northd is %s", c.Host.Name, d.Version, theirs),
				Evidence: []doctor.Evidence{
					{Source: doctor.Other("Open_vSwitch external_ids:" + key), Says: value},
					{Source: doctor.Other("Southbound SB_Global options:northd_internal_version"), Says: theirs},
					{Source: doctor.Reply("ovn-controller", "version"), Says: d.Version},
				},
				Cause:  "an upgrade has not come to its end: one of the two is still of the release before",
				Effect: "nothing that is changed comes into force on the node",
				Next:   "finish the upgrade",
				Fix:    catalog.IgnoreNorthdVersion.With(),
			}
			if c.SystemID != "" {
				f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: c.SystemID})
			}
			if logged != "" {
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Log("ovn-controller"), Says: logged})
			}
			p.Report(f)
		})
	},
}

// mismatchLogged is the last line of the log that says so of this version of northd.
func mismatchLogged(h *snapshot.Host, theirs string) string {
	log, err := h.Log("ovn-controller")
	if err != nil {
		return ""
	}
	found := ""
	for line := range strings.Lines(log) {
		switch {
		case strings.Contains(line, "mismatch with northd version - "+theirs):
			found = strings.TrimSpace(line)
		case strings.Contains(line, "version - ") && strings.Contains(line, "mismatch with northd version"):
			found = ""
		}
	}
	return found
}
