package text

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// field names the value of a field.
func (a *Annotator) field(t token, at decode.Context) {
	f, ok := fieldCalled(t.key)
	switch {
	case !ok:
		return
	case f.Name == "in_port":
		a.add(t.end, f.Name, t.value, a.port(at.Bridge, t.value))
		return
	case t.value == "NP":
		return
	}
	value, mask, err := f.ParseValue(t.value)
	if err != nil {
		return
	}
	if t.bits > 0 {
		mask = packet.Ones(t.bits).Shl(t.lo)
		value = value.Shl(t.lo).And(mask)
	}
	name := a.namer.Value
	if t.form == written || t.form == now {
		name = a.namer.Written
	}
	a.add(t.end, f.Name, t.value, name(f, value, mask, t.lo, at))
}

// fieldCalled finds a field by its name in text, if its values have names.
func fieldCalled(key string) (*packet.Field, bool) {
	switch key {
	case "zone":
		key = "ct_zone"
	case "mark":
		key = "ct_mark"
	case "labels":
		key = "ct_label"
	}
	f, ok := packet.Lookup(key)
	return f, ok && decode.HasNames(f)
}

// userdata describes what "00.00.00.12.…" asks ovn-controller to do.
func (a *Annotator) userdata(ctx context.Context, text string, at decode.Context) string {
	data, err := hex.DecodeString(strings.ReplaceAll(text, ".", ""))
	if err != nil {
		return ""
	}
	return a.namer.UserdataText(ctx, data, at)
}
