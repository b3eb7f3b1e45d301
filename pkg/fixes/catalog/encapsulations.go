package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Encapsulations are the types of tunnels that the chassis of a deployment speak,
// without VTEPs and other zones' chassis.
type Encapsulations struct {
	VXLAN     []*sb.Chassis // those that speak VXLAN
	OnlyVXLAN []*sb.Chassis // and nothing else
	Types     map[string]string
}

// EncapsulationsOf reads them.
func EncapsulationsOf(south *snapshot.Southbound) Encapsulations {
	out := Encapsulations{Types: map[string]string{}}
	types := map[string][]string{}
	for _, e := range south.Encaps {
		if !slices.Contains(types[e.ChassisName], e.Type) {
			types[e.ChassisName] = append(types[e.ChassisName], e.Type)
		}
	}
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if snapshot.Elsewhere(c) {
			continue
		}
		own := types[c.Name]
		slices.Sort(own)
		out.Types[c.Name] = strings.Join(own, ",")
		if slices.Contains(own, "vxlan") {
			out.VXLAN = append(out.VXLAN, c)
			if len(own) == 1 {
				out.OnlyVXLAN = append(out.OnlyVXLAN, c)
			}
		}
	}
	return out
}

// KnowsVXLANMode says of an internal version of ovn-northd ("24.09.1-20.37.0-78.8")
// whether it is 24.09 or later.
func KnowsVXLANMode(version string) bool {
	year, rest, _ := strings.Cut(version, ".")
	month, _, _ := strings.Cut(rest, ".")
	y, err := strconv.Atoi(year)
	m, err2 := strconv.Atoi(month)
	return err == nil && err2 == nil && (y > 24 || y == 24 && m >= 9)
}
