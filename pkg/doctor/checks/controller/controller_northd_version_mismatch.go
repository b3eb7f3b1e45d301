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
	Doc: `ovn-controller stands still: ovn-northd has another version

With external_ids:ovn-match-northd-version=true ovn-controller processes nothing until both have the same
internal version. That is meant for the minutes of an upgrade.`,
	Run: doctor.Over((*doctor.Pass).Chassis, versionMismatch),
}

func versionMismatch(p *doctor.Pass, c *doctor.Chassis) {
	value, key := c.OVS.Setting("ovn-match-northd-version", c.SystemID)
	if value != "true" {
		return
	}
	s, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
	if !ok || len(s.Globals) == 0 {
		return
	}
	d, ok := doctor.Need(p, doctor.NodeObject(c.Name), func() (snapshot.Daemon, error) { return c.Daemon("ovn-controller") })
	northd := s.Globals[0].Options["northd_internal_version"]
	if !ok || northd == "" || d.Liveness != snapshot.Answers {
		return
	}
	release, _, _ := strings.Cut(northd, "-")
	logged := mismatchLogged(c.Host, northd)
	if release == d.Version && logged == "" {
		return
	}
	f := doctor.Finding{
		Object: doctor.DaemonObject(c.Host, "ovn-controller"),
		Also:   []doctor.Object{doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("ovn-controller of %s stands still: it is %s, and ovn-northd is %s", c.Name, d.Version, northd),
		Evidence: []doctor.Evidence{
			{Source: doctor.Setting("external_ids:" + key), Says: "true"},
			{Source: doctor.SB("SB_Global", ""), Says: "options:northd_internal_version=" + northd},
			{Source: doctor.Reply("ovn-controller", "version"), Says: d.Version},
		},
		Cause:  "an upgrade is not finished: one of the two is still of the previous release",
		Effect: "no change takes effect on the node",
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
}

// mismatchLogged is the log's last line about a mismatch, if it is about this version of ovn-northd.
func mismatchLogged(h *snapshot.Host, northd string) string {
	log, err := h.Log("ovn-controller")
	if err != nil {
		return ""
	}
	found := ""
	for line := range strings.Lines(log) {
		switch {
		case strings.Contains(line, "mismatch with northd version - "+northd):
			found = strings.TrimSpace(line)
		case strings.Contains(line, "version - ") && strings.Contains(line, "mismatch with northd version"):
			found = ""
		}
	}
	return found
}
