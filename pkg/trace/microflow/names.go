package microflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// enough is the minimum number of UUID digits that ovn-trace accepts instead of a name.
const enough = 4

// findDatapath finds a datapath by the name that an operator gives it.
func (w *walker) findDatapath(name string) *logicalflow.Datapath {
	for _, d := range w.net.Datapaths() {
		if name == plainName(d) || d.Name2 != "" && name == d.Name2 {
			return d
		}
	}
	var found *logicalflow.Datapath
	for _, d := range w.net.Datapaths() {
		if sharedDigits(d.Row.UUID, name) >= enough || sharedDigits(nbUUID(d), name) >= enough {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	return found
}

func nbUUID(d *logicalflow.Datapath) ovsdb.UUID {
	if d.NBUUID != "" {
		return d.NBUUID
	}
	return d.Row.UUID
}

func plainName(d *logicalflow.Datapath) string {
	if name := d.Row.ExternalIDs["name"]; name != "" {
		return name
	}
	return string(nbUUID(d))
}

// datapathName returns a datapath's name in the text.
func (w *walker) datapathName(d *logicalflow.Datapath) string {
	switch {
	case w.options.FullNames:
		return string(nbUUID(d))
	case d.Name2 != "":
		return shorten(d.Name2)
	}
	return shorten(plainName(d))
}

// portName returns a port's name in the text.
func (w *walker) portName(p *logicalflow.Port) string {
	if w.options.FullNames {
		return p.Name()
	}
	if name, ok := p.Row.ExternalIDs["name"]; ok {
		return shorten(name)
	}
	return shorten(p.Name())
}

// nameOr returns the name of a port that may be nil.
func (w *walker) nameOr(p *logicalflow.Port, otherwise string) string {
	if p == nil {
		return otherwise
	}
	return w.portName(p)
}

// keyName returns the name of the port with a key.
func (w *walker) keyName(d *logicalflow.Datapath, key int) string {
	unnamed := "(unnamed)"
	if key == 0 {
		unnamed = ""
	}
	return w.nameOr(w.portByKey(d, key), unnamed)
}

// shorten cuts a UUID at the end of a name to six digits.
func shorten(name string) string {
	const uuid, keep = 36, 6
	if at := len(name) - uuid; at >= 0 && isUUID(name[at:]) {
		return name[:at+keep]
	}
	return name
}

func isUUID(s string) bool { return len(s) == 36 && uuidDigits(s) == 32 }

// uuidDigits returns the number of hexadecimal digits in a UUID prefix; 0 if it is none.
func uuidDigits(s string) int {
	digits := 0
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		switch {
		case i >= 36, dash != (c == '-'):
			return 0
		case dash:
		case !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)):
			return 0
		default:
			digits++
		}
	}
	return digits
}

// sharedDigits returns the length of a UUID prefix in digits; 0 if the UUID does not start with it.
func sharedDigits(id ovsdb.UUID, beginning string) int {
	if len(beginning) > len(id) || !strings.EqualFold(string(id)[:len(beginning)], beginning) {
		return 0
	}
	return uuidDigits(beginning)
}

// port finds a port by its name.
func (w *walker) port(name string) *logicalflow.Port {
	p, err := w.net.Port(w.ctx, name)
	w.fail(err)
	return p
}

func (w *walker) portByKey(d *logicalflow.Datapath, key int) *logicalflow.Port {
	p, err := d.PortByKey(w.ctx, key)
	w.fail(err)
	return p
}

func (w *walker) group(d *logicalflow.Datapath, key int) *logicalflow.Group {
	g, err := d.GroupByKey(w.ctx, key)
	w.fail(err)
	return g
}

// portKey returns the key of a port or a multicast group in a datapath. A port may be given by its CMS name or by a
// UUID prefix, if only one port matches.
func (w *walker) portKey(d *logicalflow.Datapath, name string) (uint64, bool) {
	if name == "" || name == "none" {
		return 0, true
	}
	if p := w.port(name); p != nil {
		return uint64(p.Key()), p.Datapath == d
	}
	groups, err := d.Groups(w.ctx)
	w.fail(err)
	for _, g := range groups { // before the other names of ports, which span all datapaths
		if g.Row.Name == name {
			return uint64(g.Row.TunnelKey), true
		}
	}
	if p := w.portByOtherName(name); p != nil {
		return uint64(p.Key()), p.Datapath == d
	}
	return 0, false
}

func (w *walker) portByOtherName(name string) *logicalflow.Port {
	var named, found []*logicalflow.Port
	for _, d := range w.net.Datapaths() {
		ports, err := d.Ports(w.ctx)
		w.fail(err)
		for _, p := range ports {
			if p.Row.ExternalIDs["name"] == name {
				named = append(named, p)
			}
			if uuidDigits(name) >= enough && (sharedDigits(p.Row.UUID, name) > 0 || isUUID(p.Name()) && sharedDigits(ovsdb.UUID(p.Name()), name) > 0) {
				found = append(found, p)
			}
		}
	}
	all := append(named, found...)
	if len(named) > 1 || len(found) > 1 || len(all) == 0 || all[0] != all[len(all)-1] {
		return nil
	}
	return all[0]
}

// friendly replaces port names in a match or in actions by their CMS names.
func (w *walker) friendly(text string) string {
	if w.options.FullNames {
		return text
	}
	var b strings.Builder
	last := 0 // the end of what is kept: trailing white space and comments are not
	for i := 0; i < len(text); {
		start := i
		switch {
		case strings.HasPrefix(text[i:], "//"):
			i += lengthTo(text[i:], "\n")
			continue
		case strings.HasPrefix(text[i:], "/*"):
			i += 2 + lengthTo(text[i+2:], "*/")
			continue
		case strings.IndexByte(" \t\n\v\f\r", text[i]) >= 0:
			i++
			continue
		case text[i] == '"':
			n := packet.QuotedLen(text[i:])
			i += cmp.Or(n, len(text)-i)
			b.WriteString(text[last:start])
			b.WriteString(w.friendlyName(text[start:i]))
		default:
			i++
			b.WriteString(text[last:i])
		}
		last = i
	}
	return b.String()
}

// lengthTo returns the length of a text up to and including end.
func lengthTo(text, end string) int {
	if n := strings.Index(text, end); n >= 0 {
		return n + len(end)
	}
	return len(text)
}

func (w *walker) friendlyName(quoted string) string {
	var name string
	if json.Unmarshal([]byte(quoted), &name) != nil {
		return quoted
	}
	p := w.port(name)
	if p == nil {
		return quoted
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(w.portName(p)) != nil {
		return quoted
	}
	return strings.TrimSuffix(b.String(), "\n")
}
