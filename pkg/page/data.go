package page

import (
	"encoding/json"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// mostTunnels is how many tunnels are in the data: in a large mesh only those that are not up.
const mostTunnels = 100

// data is what the scripts read, as JSON that can be in a page: json.Marshal escapes what could end the element.
func (p *Page) data() (string, error) {
	data := map[string]any{"trace": p.Trace}
	if p.Topology != nil {
		data["topology"] = some(*p.Topology)
	}
	if p.Live != nil {
		data["live"] = p.Live
	}
	b, err := json.Marshal(data)
	if err != nil {
		return "", err
	}
	var values any
	if err := json.Unmarshal(b, &values); err != nil {
		return "", err
	}
	b, err = json.Marshal(shown(values))
	return string(b), err
}

// some returns a topology without the tunnels of a large mesh that are up.
func some(t topology.Topology) *topology.Topology {
	if len(t.Tunnels) > mostTunnels {
		var down []*topology.Tunnel
		for _, tunnel := range t.Tunnels {
			if tunnel.State != topology.StateUp && len(down) < mostTunnels {
				down = append(down, tunnel)
			}
		}
		t.Tunnels = down
	}
	return &t
}

// mostValue is how much of a value in the data is kept.
const mostValue = 600

// shown returns values with their texts as they can be shown, and without what is empty.
func shown(v any) any {
	switch v := v.(type) {
	case string:
		return escape.Line(cut(v, mostValue))
	case []any:
		for i := range v {
			v[i] = shown(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			switch list, isList := value.([]any); {
			case value == nil, isList && len(list) == 0:
			default:
				out[escape.Line(cut(key, mostValue))] = shown(value)
			}
		}
		return out
	}
	return v
}
