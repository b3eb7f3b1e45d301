package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// unpacked returns the files of a capture, with its index.
func unpacked(t *testing.T, name string) map[string][]byte {
	t.Helper()
	tree, err := archive.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // only read
	files := map[string][]byte{}
	for _, f := range append([]archive.IndexEntry{{Name: archive.IndexFile}}, tree.Index().Files...) {
		if files[f.Name], err = tree.ReadFile(f.Name, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// structural are names that say what a thing is and not whose.
var structural = regexp.MustCompile(`^(?:br-(?:int|ex|external)|(?:[0-9]+_)?(?:rtoj-|jtor-)?ovn_cluster_router|transit_switch|transit_router|join|default|ovn-default|ovn-cluster|` +
	`ovn-k8s-mp[0-9]+|external|security_group|ovnkube-default|unix:|enable-chassis-as-gw|ovn[0-9]+|eth[0-9]+|netdev|svc_monitor_mac|kube-ovn|(?:[0-9]+_)?clusterL?[PR]?\w*(?:Group)(?:_ip[46])?|defaultDeny|(?:join|ovn-default)-ovn-cluster|` +
	`[a-z]+-GR|patch-br-[a-z-]+|k8s-cluster|ovn-cluster-(?:join|ovn-default)|default-network-controller.*|Service_default|BANP:default:.*|_?MC_\w+|(?:[0-9]+_)?neutron_pg_drop(?:_ip[46])?|acl[-_]log(?:ging|_meter)|` +
	`unknown|true|false|none|[A-Z][A-Za-z]+|[A-Z]{2}[A-Za-z]*:?[A-Za-z]*|ovn-(?:controller|northd)|ovn[a-z]*|any|all|[0-9.:/-]*|ip[46]?|v[46]|icmp[46]?|dynamic|router|` +
	`\w{1,3}|(?:layer|tcp|udp|arp)\w*|compute:nova|network:\w+|primary|secondary|l[sr]_\w+|nort\w+\.c:[0-9]+|active|(?:static|dst|src)-ip|yes|no|host|local\w*|geneve|egress|ingress|node)$`)

// hexadecimal are parts of UUIDs: new ones may have the same.
var hexadecimal = regexp.MustCompile(`^[0-9a-f]{4,12}$`)

// namesOf are the names, addresses and UUIDs in the databases of a capture.
func namesOf(files map[string][]byte) map[string]bool {
	list := map[string]bool{}
	collect := func(column string, v any) {
		var walk func(v any, key bool)
		walk = func(v any, key bool) {
			switch v := v.(type) {
			case string:
				if !key && len(v) > 3 && !structural.MatchString(v) {
					list[v] = true
				}
			case []any:
				if len(v) == 2 && (v[0] == "set" || v[0] == "uuid") {
					walk(v[1], false)
					return
				}
				if len(v) == 2 && v[0] == "map" {
					pairs, _ := v[1].([]any)
					for _, p := range pairs {
						walk(p.([]any)[1], false)
					}
					return
				}
				for _, e := range v {
					walk(e, false)
				}
			}
		}
		if slices.Contains([]string{"name", "hostname", "logical_port", "external_ids", "addresses", "mac", "networks", "ip", "nexthop", "ip_prefix", "external_ip", "logical_ip", "chassis_name"}, column) {
			walk(v, false)
		}
	}
	for name, content := range files {
		if !bytes.HasPrefix(content, []byte("OVSDB ")) {
			continue
		}
		_ = name
		ovsdb.RewriteRecords(content, func(record []byte) []byte {
			var tables map[string]any
			if json.Unmarshal(record, &tables) != nil || tables["tables"] != nil {
				return record
			}
			for table, rows := range tables {
				rows, _ := rows.(map[string]any)
				for uuid, row := range rows {
					list[uuid] = true
					columns, _ := row.(map[string]any)
					for column, v := range columns {
						if table != "DHCP_Options" && table != "DHCPv6_Options" && table != "Logical_Flow" {
							collect(column, v)
						}
					}
				}
			}
			return record
		})
	}
	words := map[string]bool{}
	for v := range list {
		for _, w := range strings.Fields(v) { // "MAC IP"
			w, _, _ = strings.Cut(w, "/")
			if ip, err := netip.ParseAddr(w); err == nil && (ip.IsUnspecified() || ip.IsMulticast() || ip.IsLoopback() || ip == netip.MustParseAddr("169.254.0.0")) {
				continue
			}
			if len(w) > 3 && !structural.MatchString(w) {
				words[w] = true
			}
		}
	}
	return words
}

// A finder looks for many strings at once.
type finder map[string][]string // by their first four bytes

func (f finder) add(s string) {
	if len(s) >= 4 && !slices.Contains(f[s[:4]], s) {
		f[s[:4]] = append(f[s[:4]], s)
	}
}

// in returns which of the strings are in a text, as whole words, with what is around them.
func (f finder) in(text []byte, whole bool) map[string]string {
	found := map[string]string{}
	word := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z')
	}
	for i := 0; i+4 <= len(text); i++ {
		for _, s := range f[string(text[i:i+4])] {
			if bytes.HasPrefix(text[i:], []byte(s)) && (!whole || !word(i-1) && !word(i+len(s))) {
				found[s] = string(text[max(0, i-60):min(len(text), i+len(s)+30)])
			}
		}
	}
	return found
}

// No name, address or UUID that is in a deployment's databases is in its redacted capture.
func TestRedactNames(t *testing.T) {
	for name, tree := range redactable(t) {
		if testing.Short() && name == "kube-ovn" {
			continue // TestRedactAnswers has it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := asCapture(t, tree)
			redacted, _ := redact(t, plain)
			originals := namesOf(unpacked(t, plain))
			if len(originals) < 300 {
				t.Fatalf("only %d names", len(originals))
			}
			f := finder{}
			for o := range originals {
				f.add(o)
				for _, part := range strings.FieldsFunc(o, func(c rune) bool { return c == '_' || c == '/' }) { // the pod of a port
					if strings.ContainsAny(part, "-.0123456789") && !structural.MatchString(part) && !hexadecimal.MatchString(part) {
						f.add(part)
					}
				}
			}
			left := map[string]string{}
			for file, content := range unpacked(t, redacted) {
				content = bytes.ReplaceAll(content, []byte("ovsdb-client"), nil)
				for s, around := range f.in(append([]byte(file+"\n"), content...), true) {
					left[s] = file + ": " + around
				}
			}
			t.Logf("%d names", len(originals))
			for _, s := range slices.Sorted(maps.Keys(left)) {
				t.Errorf("%q is left: %q", s, left[s])
			}
		})
	}
}

// A planter draws secrets and identifying strings. It does not know what the scanner and the redactor know.
type planter struct{ *rand.Rand }

func (p planter) from(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[p.IntN(len(set))]
	}
	return string(b)
}

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	alnum = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// syllables makes a word that nobody has used.
func (p planter) syllables() string {
	w := ""
	for range 3 + p.IntN(2) {
		w += p.from("bdfgklmnprstvz", 1) + p.from("aeiou", 1)
	}
	return w
}

var nouns = strings.Fields(`falcon orchid harbour granite walnut meadow saffron juniper cobalt lantern pelican thistle maple otter quartz violin
payroll treasury mortgage clinic brewery bakery embassy museum dentist insurer lawyer surgeon hotel casino`)

// identity draws a string that says whose a deployment is.
func (p planter) identity() string {
	noun := func() string { return nouns[p.IntN(len(nouns))] }
	hexes := "0123456789abcdef"
	switch p.IntN(14) {
	case 0:
		return fmt.Sprintf("%s-%s-%02d.%s.example", noun(), p.syllables(), p.IntN(99), p.syllables())
	case 1:
		return fmt.Sprintf("%s.%s@%s.example", p.syllables(), p.syllables(), noun()+p.syllables())
	case 2:
		return fmt.Sprintf("%d.%d.%d.%d", 11+p.IntN(100), 1+p.IntN(250), 1+p.IntN(250), 1+p.IntN(250))
	case 3:
		return fmt.Sprintf("2a0%d:%x:%x::%x", p.IntN(9), 4096+p.IntN(60000), 4096+p.IntN(60000), 4096+p.IntN(60000))
	case 4:
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", 4*p.IntN(60), 16+p.IntN(200), 16+p.IntN(200), 16+p.IntN(200), 16+p.IntN(200), 16+p.IntN(200))
	case 5:
		return p.from(hexes, 8) + "-" + p.from(hexes, 4) + "-4" + p.from(hexes, 3) + "-a" + p.from(hexes, 3) + "-" + p.from(hexes, 12)
	case 6:
		return "neutron-" + p.from(hexes, 8) + "-" + p.from(hexes, 4) + "-4" + p.from(hexes, 3) + "-a" + p.from(hexes, 3) + "-" + p.from(hexes, 12)
	case 7:
		return p.from(hexes, 32)
	case 8:
		return fmt.Sprintf("ip-10-%d-%d-%d.%s.internal", 100+p.IntN(150), 100+p.IntN(150), 100+p.IntN(150), p.syllables())
	case 9:
		return noun() + "_" + p.syllables()
	case 10:
		return strings.ToUpper(p.syllables()[:1]) + p.syllables()
	case 11:
		return "/srv/" + p.syllables() + "/" + noun() + p.syllables()
	case 12:
		return "pg_" + p.from(hexes, 8) + "_" + p.from(hexes, 4) + "_4" + p.from(hexes, 3) + "_a" + p.from(hexes, 3) + "_" + p.from(hexes, 12)
	}
	return "tap" + p.from(hexes, 8) + "-" + p.from(hexes, 2)
}

// secretText draws a secret, and a text that marks it as one.
func (p planter) secretText() (hidden, text string) {
	hidden = p.from(alnum+"!$%+-_.", 14+p.IntN(20))
	if p.IntN(3) == 0 {
		hidden = p.from("0123456789abcdef", 32)
	}
	name := []string{"password", "db_passwd", "ADMIN_PWD", "passphrase", "api_key", "apiKey", "credential", "auth", "token", "client-secret", "psk", "wifi-PSK", "client-key-data"}[p.IntN(13)]
	switch p.IntN(12) {
	case 0:
		return hidden, name + "=" + hidden
	case 1:
		return hidden, "x " + name + ": " + hidden
	case 2:
		return hidden, `{"user":"x","` + name + `":"` + hidden + `"}`
	case 3:
		return hidden, "https://admin:" + p.clean(&hidden) + "@host.example/x"
	case 4:
		return hidden, "Authorization: Bearer " + hidden
	case 5:
		hidden = p.from(alnum+"+/", 64)
		return hidden, "-----BEGIN RSA PRIVATE KEY-----\n" + hidden + "\n" + p.from(alnum+"+/", 40) + "\n-----END RSA PRIVATE KEY-----"
	case 6:
		hidden = p.from(alnum+"+/", 64)
		return hidden, `-----BEGIN PRIVATE KEY-----\n` + hidden + `\n` + p.from(alnum+"+/", 30) + `==\n-----END PRIVATE KEY-----`
	case 7:
		return hidden, base64.StdEncoding.EncodeToString([]byte(`{"` + name + `":"` + hidden + `"}`))
	case 8:
		hidden = "AKIA" + p.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
		return hidden, "using " + hidden
	case 9:
		return hidden, base64.URLEncoding.EncodeToString([]byte(name + "=" + hidden))
	case 10:
		return hidden, `{\"` + name + `\": \"` + hidden + `\"}`
	}
	return hidden, "--" + name + " " + hidden
}

func (p planter) clean(hidden *string) string {
	*hidden = p.from(alnum, 20)
	return *hidden
}

// forms are the ways in which a string may be written.
func forms(s string) []string {
	quoted, _ := json.Marshal(s)
	list := []string{s, string(quoted[1 : len(quoted)-1]), strings.ToUpper(s), strings.ToLower(s), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))}
	for pad := range 3 { // in base64, wherever it begins
		if at := 4; len(s) > 12 {
			list = append(list, base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + s))[at:len(s)*4/3-2])
		}
	}
	return slices.Compact(append(list, byByte(s)...))
}

// byByte writes a string as its bytes: in escapes, as in a URL, with dots, with colons, and with spaces.
func byByte(s string) []string {
	list := make([]string, 5)
	for i := range len(s) {
		for k, form := range []string{`\x%02x`, "%%%02x", ".%02x", ":%02x", " %02x"} {
			list[k] += fmt.Sprintf(form, s[i])
		}
	}
	for k := 2; k < len(list); k++ {
		list[k] = list[k][1:]
	}
	return list
}

// plant puts texts into a file of a capture: into every table and map of a database, key and value, every string of a document
// that this program writes, and lines of anything else. next draws a text.
func plant(p planter, name string, content []byte, next func() string) []byte {
	switch {
	case bytes.HasPrefix(content, []byte("OVSDB ")):
		return ovsdb.RewriteRecords(content, func(record []byte) []byte {
			var tables map[string]any
			if json.Unmarshal(record, &tables) != nil || tables["tables"] != nil {
				return record
			}
			for _, rows := range tables {
				if rows, ok := rows.(map[string]any); ok {
					plantRows(p, rows, next)
				}
			}
			return archive.Compact(tables)
		})
	case strings.HasSuffix(name, "conf.json"):
		return plantTables(p, content, next)
	case strings.HasSuffix(name, ".json"):
		var doc any
		if json.Unmarshal(content, &doc) != nil {
			return content
		}
		return archive.Compact(plantDocument(p, doc, next))
	}
	lines := "\n2026-01-01T00:00:00.000Z|00007|main|INFO|" + next() + " connects\n  name: [" + next() + "], \"" + next() + "\"\n" + next() + "\n"
	return append(bytes.Clone(content), lines...)
}

func plantRows(p planter, rows map[string]any, next func() string) {
	for _, row := range rows {
		columns, _ := row.(map[string]any)
		for column, v := range columns {
			list, _ := v.([]any)
			text, isString := v.(string)
			switch {
			case len(list) == 2 && list[0] == "map":
				plantMap(list, next)
			case !isString || p.IntN(4) > 0:
			case column == "match":
				columns[column] = text + " && inport == " + strconv.Quote(next())
			case column == "actions":
				columns[column] = strings.Replace(text, "next;", "outport = "+strconv.Quote(next())+"; next;", 1)
			default:
				columns[column] = text + " " + next()
			}
		}
		if p.IntN(3) == 0 {
			return
		}
	}
}

// plantMap plants a key and a value into a map of texts.
func plantMap(list []any, next func() string) {
	if pairs, _ := list[1].([]any); len(pairs) == 0 || isText(pairs[0]) {
		list[1] = append(pairs, []any{next(), "true"}, []any{"note", next()})
	}
}

// plantTables plants into what ovsdb-client dump -f json prints: a document for each table.
func plantTables(p planter, content []byte, next func() string) []byte {
	var out []byte
	for in := json.NewDecoder(bytes.NewReader(content)); ; {
		var table struct {
			Caption  string   `json:"caption"`
			Data     [][]any  `json:"data"`
			Headings []string `json:"headings"`
		}
		if in.Decode(&table) != nil {
			return out
		}
		for _, row := range table.Data {
			plantCells(p, row, next)
		}
		out = append(append(out, archive.Compact(table)...), '\n')
	}
}

func plantCells(p planter, row []any, next func() string) {
	for i, v := range row {
		list, _ := v.([]any)
		if len(list) == 2 && list[0] == "map" {
			plantMap(list, next)
		} else if text, ok := v.(string); ok && p.IntN(4) == 0 {
			row[i] = text + " " + next()
		}
	}
}

// plantName plants into the name of a file that is named by what somebody chose: a bridge, a file of the host, a link.
func plantName(name, planted string) string {
	planted = strings.NewReplacer("/", "-", "\n", "-", " ", "-").Replace(planted)
	dir, base := path.Split(name)
	switch {
	case strings.HasPrefix(base, "flows-"):
		return dir + "flows-" + planted + ".txt"
	case strings.Contains(name, "/files/"):
		return dir + planted
	case path.Base(dir) == "features":
		return dir + planted + ".json"
	}
	return ""
}

func isText(pair any) bool {
	p, _ := pair.([]any)
	if len(p) != 2 {
		return false
	}
	_, key := p[0].(string)
	_, value := p[1].(string)
	return key && value
}

func plantDocument(p planter, v any, next func() string) any {
	switch v := v.(type) {
	case string:
		if p.IntN(3) == 0 {
			return v + " " + next()
		}
	case []any:
		for i, e := range v {
			v[i] = plantDocument(p, e, next)
		}
	case map[string]any:
		for key, e := range v {
			v[key] = plantDocument(p, e, next)
		}
	}
	return v
}

// What is planted everywhere in a capture is hidden: in a plain one secrets that something marks, in a redacted one everything, in
// every form. OVNCTL_SEED draws the same, in the same capture.
func TestRedactPlanted(t *testing.T) {
	seed := turn.Seed(t)
	p := planter{rand.New(rand.NewPCG(seed, 0))}
	var texts, secrets, identities []string
	for range 60 {
		hidden, text := p.secretText()
		secrets, texts = append(secrets, hidden), append(texts, text)
	}
	for range 200 {
		identities = append(identities, p.identity())
	}
	planted := map[string]bool{}
	next := func() string {
		if p.IntN(3) == 0 {
			i := p.IntN(len(texts))
			planted[secrets[i]] = true
			return texts[i]
		}
		s := identities[p.IntN(len(identities))]
		planted[s] = true
		switch p.IntN(11) {
		case 4, 5, 6:
			return byByte(s)[p.IntN(5)]
		case 0:
			return base64.StdEncoding.EncodeToString([]byte("owner " + s))
		case 1:
			return hex.EncodeToString([]byte(s))
		case 2:
			return strings.ToUpper(s)
		case 3:
			return "(" + s + ")"
		}
		return s
	}

	trees := redactable(t)
	of := slices.Sorted(maps.Keys(trees))[p.IntN(len(trees))]
	t.Logf("planted in %s", of)
	tree, err := archive.Open(t.Context(), asCapture(t, trees[of]))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // only read
	name := filepath.Join(t.TempDir(), "planted.tar.zst")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := archive.NewWriter(f, "test", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	w.Describe(func(x *archive.Index) {
		x.Nodes, x.Databases, x.Notes = tree.Index().Nodes, tree.Index().Databases, append(x.Notes, next(), next())
	})
	for _, file := range tree.Index().Files {
		content, err := tree.ReadFile(file.Name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		content = plant(p, file.Name, content, next)
		if bytes.HasPrefix(content, []byte("OVSDB ")) { // as a capture does with what it reads
			content = ovsdb.RewriteRecords(content, secret.Text)
		} else {
			content = secret.Text(content)
		}
		if err := w.Keep(file.Node, file.Name, file.What+" "+next(), content); err != nil {
			t.Fatal(err)
		}
		name := identities[p.IntN(len(identities))]
		if named := plantName(file.Name, name); named != "" {
			planted[name] = true
			if err := w.Keep(file.Node, named, file.What, content); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Miss(tree.Index().Nodes[0].Name, next(), fmt.Errorf("no %s", next()))
	// A small capture has too few places for all that is drawn: the rest stands in what the capture misses.
	for _, s := range identities {
		if !planted[s] {
			w.Miss(tree.Index().Nodes[0].Name, "a file of "+s, fs.ErrNotExist)
		}
	}
	for i, text := range texts {
		if !planted[secrets[i]] {
			w.Miss(tree.Index().Nodes[0].Name, text, fs.ErrNotExist)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if len(planted) < 130 { // half of all
		t.Fatalf("only %d are planted in the files", len(planted))
	}

	look := func(name string, strings []string) map[string]string {
		t.Helper()
		all := finder{}
		for _, s := range strings {
			for _, form := range forms(s) {
				all.add(form)
			}
		}
		left := map[string]string{}
		for file, content := range unpacked(t, name) {
			for s, around := range all.in(content, false) {
				left[s] = file + ": " + around
			}
		}
		return left
	}
	if n := len(look(name, identities)); n < 180 {
		t.Fatalf("only %d names are in the plain capture", n)
	}
	redacted, _ := redact(t, name)
	for which, left := range map[string]map[string]string{"plain": look(name, secrets), "redacted": look(redacted, append(secrets, identities...))} {
		for _, s := range slices.Sorted(maps.Keys(left)) {
			t.Errorf("%s: %q is left: %q", which, s, left[s])
		}
	}
}
