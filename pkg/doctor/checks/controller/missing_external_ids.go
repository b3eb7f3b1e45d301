package controller

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var MissingExternalIDs = &doctor.Check{
	Name:     "missing-external-ids",
	Category: "ovn-controller",
	Doc: `A node lacks a setting without which it is no chassis

ovn-controller needs system-id, ovn-remote, ovn-encap-type and ovn-encap-ip in
Open_vSwitch.external_ids, each for all or for the chassis by name. It hardly
says which one is missing.`,
	Causes: []string{"conf-db-lost-or-corrupt"},
	Run: func(p *doctor.Pass) {
		p.Chassis(func(c *doctor.Chassis) {
			for _, key := range catalog.ChassisKeys {
				value, _ := c.OVS.Setting(key, c.SystemID)
				if value == "" && (key != "system-id" || c.SystemID == "") {
					p.Report(missingKey(p, c, key))
				}
			}
		})
	},
}

// says is what ovn-controller says of a missing key, in words.
var says = map[string]string{
	"system-id":      "ovn-controller warns once that 'system-id' in Open_vSwitch database is missing",
	"ovn-remote":     "ovn-controller's connection-status is not connected, and nothing else tells",
	"ovn-encap-type": "ovn-controller tells at level INFO alone, and its connection-status is connected",
	"ovn-encap-ip":   "ovn-controller tells at level INFO alone, and its connection-status is connected",
}

func missingKey(p *doctor.Pass, c *doctor.Chassis, key string) doctor.Finding {
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "node", Name: c.Name},
		Title:    fmt.Sprintf("%s is not set on %s", key, c.Name),
		Evidence: []doctor.Evidence{{Source: doctor.Other("Open_vSwitch external_ids of " + c.Name), Says: "has no " + key}},
		Cause:    "the key was removed, or never written after the database was made anew; " + says[key],
		Effect:   "ovn-controller neither registers the node nor follows the Southbound: what is bound here stays as it was, nothing new works",
	}
	if host := c.OVS.ID("hostname"); host != "" && host != c.Name {
		f.Also = append(f.Also, doctor.NodeObject(host)) // the node as the Southbound knows it
	}
	proposed := catalog.ProposeChassisKey(p.Deployment, c.Host, key)
	for _, v := range proposed {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(v.From), Says: key + "=" + v.Value})
	}
	switch len(proposed) {
	case 0:
		f.Next = fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE, with the value that the cluster's management system means", key)
	case 1:
		f.Fix = catalog.SetChassisKey.With(key, proposed[0].Value)
	default:
		f.Next = fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE, with the right one of %d", key, len(proposed))
	}
	return f
}
