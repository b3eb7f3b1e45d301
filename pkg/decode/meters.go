package decode

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// perObject matches the suffix that ovn-northd appends to the name of a meter that each user has its own copy of: the
// user's UUID.
var perObject = pattern.New(`__[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ParseMeters parses the output of ovn-controller's meter-table-list: the name of the Meter row by meter number, for
// QoS rules the rate.
func ParseMeters(text string) map[uint32]string {
	meters := map[uint32]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndex(line, ": ")
		if i < 0 {
			continue
		}
		id, err := strconv.ParseUint(line[i+2:], 10, 32)
		if err != nil {
			continue
		}
		name := line[:i]
		if rule, ok := strings.CutPrefix(name, "__string: "); ok {
			name = qosRate(rule)
		} else {
			name = "meter " + perObject.Get().ReplaceAllString(name, "")
		}
		if name != "" {
			meters[uint32(id)] = name
		}
	}
	return meters
}

// qosRate parses the rate in "uuid 489412a5-… kbps burst stats bands=type=drop rate=3000 burst_size=3000".
func qosRate(text string) string {
	_, bands, ok := strings.Cut(strings.TrimPrefix(text, "uuid "), " ")
	m, err := openflow.ParseMeterEntry("meter=1 " + bands)
	if !ok || err != nil || len(m.Bands) == 0 {
		return ""
	}
	rate := fmt.Sprintf("QoS, at most %d kbps", m.Bands[0].Rate)
	if m.Bands[0].Burst != 0 {
		rate += fmt.Sprintf(", bursts of %d kbit", m.Bands[0].Burst)
	}
	return rate
}
