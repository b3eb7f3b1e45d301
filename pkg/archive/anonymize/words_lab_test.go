//go:build lab

package anonymize

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

var update = flag.Bool("update", false, "add the words of the installed releases to keys.txt and syntax.txt")

// TestWordsOfReleases holds that keys.txt and syntax.txt have the words of every release of OVS and OVN that is installed here: those
// of its schemas and of its man pages. A newer release's are added by
//
//	go test -tags lab -run TestWordsOfReleases ./pkg/archive/anonymize -update
func TestWordsOfReleases(t *testing.T) {
	r := New()
	r.settle()
	missing := [2]map[string]bool{{}, {}} // of keys, of syntax
	for _, name := range lab.Releases() {
		release, err := lab.Installed(t.Context(), name)
		if err != nil {
			if name == lab.System {
				t.Fatal(err)
			}
			t.Logf("without %s: %v", name, err)
			continue
		}
		w := wordsOf(t, filepath.Join(release.Root, "/usr/share"))
		t.Logf("%s: %d keys, %d words", release, len(w.keys), len(w.syntax))
		if len(w.keys) < 150 || len(w.syntax) < 300 {
			t.Errorf("%s: %d keys and %d words: are schemas and man pages written in another way?", release, len(w.keys), len(w.syntax))
		}
		for key := range w.keys {
			if r.key(key) != key {
				missing[0][normal(key)] = true
			}
		}
		for word := range w.syntax {
			if !r.known(word, prose) {
				missing[1][normal(word)] = true
			}
		}
	}
	for i, list := range []struct{ file, text string }{{"keys.txt", keysText}, {"syntax.txt", syntaxText}} {
		all := append(strings.Fields(list.text), slices.Collect(maps.Keys(missing[i]))...)
		want := written(all)
		if *update {
			if err := os.WriteFile(list.file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if len(missing[i]) > 0 {
			t.Errorf("%s lacks words of the installed releases: -update adds %q", list.file, slices.Sorted(maps.Keys(missing[i])))
		} else if want != list.text {
			t.Errorf("%s is not in order: -update writes it anew", list.file)
		}
	}
}

// written is a list as its file has it: each word once, in order, in lines.
func written(words []string) string {
	var b strings.Builder
	column := 0
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		switch {
		case column == 0:
		case column+1+len(w) > 150:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += len(w)
	}
	return b.String() + "\n"
}

// words are those of a release: keys of maps, and the rest.
type words struct{ keys, syntax map[string]bool }

// wordsOf reads the schemas and man pages below a directory.
func wordsOf(t *testing.T, share string) words {
	t.Helper()
	w := words{map[string]bool{}, map[string]bool{}}
	files := func(pattern string) []string {
		found, err := filepath.Glob(filepath.Join(share, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, schema := range append(files("ovn/*.ovsschema"), files("openvswitch/vswitch.ovsschema")...) {
		text, err := os.ReadFile(schema)
		if err != nil {
			t.Fatal(err)
		}
		w.schema(t, text)
	}
	for _, page := range []string{"man5/ovn-nb.5*", "man5/ovn-sb.5*", "man5/ovn-ic-*.5*", "man5/ovs-vswitchd.conf.db.5*", "man7/ovs-fields.7*"} {
		for _, file := range files("man/" + page) {
			w.page(manPage(t, file))
		}
	}
	return w
}

// schema takes the names of tables and columns, and the values of enumerations.
func (w words) schema(t *testing.T, text []byte) {
	t.Helper()
	var schema struct {
		Tables map[string]struct {
			Columns map[string]struct{ Type any }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for table, of := range schema.Tables {
		w.syntax[table] = true
		for column, c := range of.Columns {
			w.syntax[column] = true
			w.enumeration(c.Type)
		}
	}
}

// enumeration takes the strings of ["set", ["a", "b"]] at "enum", wherever it is in a type.
func (w words) enumeration(of any) {
	fields, _ := of.(map[string]any)
	for name, field := range fields {
		set, _ := field.([]any)
		if name != "enum" || len(set) != 2 {
			w.enumeration(field)
			continue
		}
		values, _ := set[1].([]any)
		for _, v := range values {
			if text, ok := v.(string); ok {
				w.syntax[text] = true
			}
		}
	}
}

var (
	pageKey    = regexp.MustCompile(`\\fB[a-z_0-9]+ : ([A-Za-z0-9_.:-]+)\\fR`)                              // options : requested-chassis
	pageChoice = regexp.MustCompile(`(?m)^\.IP "\\fB[^"]*: (?:optional )?string, (?:one of|either) (.*)"$`) // string, either a or b
	pageBold   = regexp.MustCompile(`\\fB([A-Za-z0-9_.:-]+)\\fR`)
	pageField  = regexp.MustCompile(`(?m)^Name:;\\fB(\w+)\\fR(?: \(aka \\fB(\w+)\\fR\))?`) // Name: tun_id (aka tunnel_id)
	pageAction = regexp.MustCompile(`(?m)^\.IP "\\fB([a-z_0-9]+)[;(]`)                     // ct_next(ct_zone);
	rawDash    = strings.NewReplacer(`\-`, "-", `\[char46]`, ".")
)

// page takes the keys, choices, fields and actions of a man page.
func (w words) page(text string) {
	text = rawDash.Replace(text)
	for _, at := range pageKey.FindAllStringSubmatch(text, -1) {
		w.keys[at[1]] = true
	}
	for _, choice := range pageChoice.FindAllStringSubmatch(text, -1) {
		for _, at := range pageBold.FindAllStringSubmatch(choice[1], -1) {
			w.syntax[at[1]] = true
		}
	}
	for _, at := range slices.Concat(pageField.FindAllStringSubmatch(text, -1), pageAction.FindAllStringSubmatch(text, -1)) {
		for _, name := range at[1:] {
			if name != "" {
				w.syntax[name] = true
			}
		}
	}
}

// manPage is the text of a page, unpacked.
func manPage(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
