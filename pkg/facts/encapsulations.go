package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Encapsulations are the tunnel types of the chassis of a deployment, without VTEPs
// and chassis of other zones.
type Encapsulations struct {
	VXLAN     []*sb.Chassis     // those that have VXLAN
	OnlyVXLAN []*sb.Chassis     // and nothing else
	Types     map[string]string // by the chassis' name: "geneve,vxlan"
}

// EncapsulationsOf reads them.
func EncapsulationsOf(south *snapshot.Southbound) Encapsulations {
	out := Encapsulations{Types: map[string]string{}}
	types := map[string][]string{}
	for _, e := range south.Encaps {
		types[e.ChassisName] = append(types[e.ChassisName], e.Type)
	}
	for c := range south.OwnChassis() {
		slices.Sort(types[c.Name])
		own := slices.Compact(types[c.Name])
		out.Types[c.Name] = strings.Join(own, ",")
		if !slices.Contains(own, "vxlan") {
			continue
		}
		out.VXLAN = append(out.VXLAN, c)
		if len(own) == 1 {
			out.OnlyVXLAN = append(out.OnlyVXLAN, c)
		}
	}
	return out
}

// KnowsVXLANMode reports whether an internal version of ovn-northd ("24.09.1-20.37.0-78.8")
// is 24.09 or later.
func KnowsVXLANMode(version string) bool {
	year, rest, _ := strings.Cut(version, ".")
	month, _, _ := strings.Cut(rest, ".")
	y, err := strconv.Atoi(year)
	m, err2 := strconv.Atoi(month)
	return err == nil && err2 == nil && (y > 24 || y == 24 && m >= 9)
}
