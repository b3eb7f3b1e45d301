package controller

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/lazy"
)

var MissingExternalIDs = &doctor.Check{
	Name:     "missing-external-ids",
	Category: "ovn-controller",
	Doc: `A node lacks a setting that ovn-controller needs

ovn-controller needs system-id, ovn-remote, ovn-encap-type and ovn-encap-ip in
Open_vSwitch.external_ids, each for all or for the chassis by name. It hardly
reports which one is missing.`,
	Causes: []string{"conf-db-lost-or-corrupt"},
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		for _, key := range facts.ChassisKeys {
			value, _ := c.OVS.Setting(key, c.SystemID)
			if value == "" && (key != "system-id" || c.SystemID == "") {
				p.Report(missingKey(p, c, key))
			}
		}
	}),
}

// symptoms are ovn-controller's messages for a missing key.
var symptoms = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"system-id":      "ovn-controller warns once that 'system-id' in Open_vSwitch database is missing",
		"ovn-remote":     "ovn-controller's connection-status is not connected, and it logs nothing",
		"ovn-encap-type": "ovn-controller logs it at level INFO only, and its connection-status is connected",
		"ovn-encap-ip":   "ovn-controller logs it at level INFO only, and its connection-status is connected",
	}
}}

func missingKey(p *doctor.Pass, c *doctor.Chassis, key string) doctor.Finding {
	f := doctor.Finding{
		Object:   doctor.NodeObject(c.Name),
		Reason:   "no-" + key,
		Title:    fmt.Sprintf("%s has no %s", c.Name, key),
		Evidence: []doctor.Evidence{{Source: doctor.Setting("external_ids").On(c.Name), Says: "no " + key}},
		Cause:    "the key was removed, or not written after the database was created again; " + symptoms.Get()[key],
		Effect:   "ovn-controller neither registers the node nor follows the Southbound: ports bound here stay as they were, nothing new works",
	}
	if host := c.OVS.ID("hostname"); host != "" && host != c.Name {
		f.Also = append(f.Also, doctor.NodeObject(host)) // the node's hostname in the Southbound
	}
	proposed := facts.ProposeChassisKey(p.Deployment, c.Host, key)
	for _, v := range proposed {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(v.From), Says: key + "=" + v.Value})
	}
	switch len(proposed) {
	case 0:
		f.Next = fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE, with the value that your CMS uses", key)
	case 1:
		f.Fix = catalog.SetChassisKey.With(key, proposed[0].Value)
	default:
		f.Next = fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE, with the right one of %d", key, len(proposed))
	}
	return f
}
