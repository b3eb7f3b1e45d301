package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// hostile are names as somebody who wants to fool an operator would write them
// into a database.
var hostile = []string{
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u009b31m", "a\x00b", "a\nb\tc\rd", "\x7f",
	"\u202Egnp.exe", "\u2066x\u2069", "\u200bzero\u200d", "\ufeff", "\u2028line\u2029",
	"\U000E0041tag", "\xff\xfe", "\xc3\x28", "\U0001F600", "日本語", "a|b`c<script>\"'\\", "no", "- x: y", "#c", "&a *b !c", strings.Repeat("x", 300),
}

func TestClean(t *testing.T) {
	tests := []struct{ in, out string }{
		{"node1", "node1"},
		{"", ""},
		{"日本語 é", "日本語 é"},
		{"\x1b[31m", `\x1b[31m`},
		{"a\nb\tc\r", `a\nb\tc\x0d`},
		{"\u009b", `\x9b`},
		{"\x9b", `\x9b`},
		{"\u202e", `\u202e`},
		{"\u2028", `\u2028`},
		{"\U000E0041", `\U000e0041`},
		{"\xff", `\xff`},
		{"\uFFFD", "\uFFFD"},
		{"a\u00a0b", `a\xa0b`},
	}
	for _, test := range tests {
		if got := render.Clean(test.in); got != test.out {
			t.Errorf("Clean(%q) = %q, want %q", test.in, got, test.out)
		}
	}
	if got := render.CleanLines("a\x1b\nhint: b"); got != "a\\x1b\nhint: b" {
		t.Errorf("CleanLines: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := render.Clean(s)
		safe(t, got, false)
		if again := render.Clean(got); again != got {
			t.Errorf("Clean(%q) = %q, again %q", s, got, again)
		}
	})
}

// safe checks that a terminal shows text and does nothing else.
func safe(t *testing.T, text string, lines bool) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && (r != '\n' || !lines) {
			t.Errorf("%U in %.200q", r, text)
			return
		}
	}
}

func TestDocumentsAreSafe(t *testing.T) {
	for _, s := range hostile {
		doc := map[string]any{s: s, "list": []string{s, s}}
		for _, format := range []string{"json", "yaml"} {
			var b bytes.Buffer
			if err := render.Write(&b, format, doc); err != nil {
				t.Fatalf("%s of %q: %v", format, s, err)
			}
			safe(t, b.String(), true)
			var back map[string]any
			err := json.Unmarshal(b.Bytes(), &back)
			if format == "yaml" {
				err = yaml.Unmarshal(b.Bytes(), &back)
			}
			if err != nil {
				t.Errorf("%s of %q: %v\n%s", format, s, err, b.String())
				continue
			}
			valid := strings.ToValidUTF8(s, "\uFFFD")
			if format == "json" && s == "\xff\xfe" {
				valid = "\uFFFD\uFFFD" // encoding/json replaces each byte
			}
			if back[valid] != valid && s != "\xff\xfe" {
				t.Errorf("%s of %q came back as %q", format, s, back)
			}
		}
	}
}

func TestYAMLWords(t *testing.T) {
	var b bytes.Buffer
	if err := render.YAML(&b, map[string]any{"on": "no", "a": "Yes", "b": true, "c": "1", "d": []int{}, "e": map[string]int{}, "f": nil}); err != nil {
		t.Fatal(err)
	}
	want := `a: "Yes"
b: true
c: "1"
d: []
e: {}
f: null
"on": "no"
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestTableIsSafe(t *testing.T) {
	for _, s := range hostile {
		table := &render.Table{Title: s, Header: []string{"NAME", "STATE", "NEXT"}}
		table.Row(render.Text(s, render.Name), render.Text("up", render.Good), render.Text(s))
		table.Row(render.Text("x"), nil, nil)
		tree := render.Branch(render.Text(s))
		tree.AddTo("a", render.Text(s), render.Text(s)).Add(render.Text(s))
		for _, style := range []render.Style{{}, {Width: 40}, {ASCII: true}, {ASCII: true, Width: 60}, {Width: 1}} {
			var b bytes.Buffer
			if err := render.WriteTables(&b, style, true, table); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			if err := render.WriteTree(&b, style, tree); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			safe(t, b.String(), true)
			for line := range strings.Lines(b.String()) {
				if strings.HasSuffix(line, " \n") {
					t.Errorf("%q: blank at the end of %q", s, line)
				}
				if style.ASCII && strings.IndexFunc(line, func(r rune) bool { return r > 0x7e }) >= 0 {
					t.Errorf("%q: not ASCII: %q", s, line)
				}
			}
		}
		if err := render.WriteMarkdownTables(new(bytes.Buffer), table); err != nil {
			t.Error(err)
		}
	}
}

func TestColor(t *testing.T) {
	table := &render.Table{Header: []string{"NAME", "STATE"}}
	table.Row(render.Text("node1", render.Name), render.Text("up", render.Good))
	table.Row(render.Text("n\x1b[2Jx", render.Name), render.Text("down", render.Bad))
	var plain, painted bytes.Buffer
	for b, style := range map[*bytes.Buffer]render.Style{&plain: {}, &painted: {Color: true}} {
		if err := render.WriteTables(b, style, false, table); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(painted.String(), "\x1b[36mnode1\x1b[0m") {
		t.Errorf("not painted: %q", painted.String())
	}
	if strings.Contains(painted.String(), "\x1b[2J") {
		t.Errorf("a name's escape sequence came through: %q", painted.String())
	}
	if got := unpainted(painted.String()); got != plain.String() {
		t.Errorf("colour changes the layout:\n%q\n%q", got, plain.String())
	}
}

// unpainted takes the escape sequences of colours out of text.
func unpainted(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "m")
	}
}

func TestTree(t *testing.T) {
	root := render.Branch(render.Text("switch sw0"), render.Text("10.0.0.0/24"))
	a := root.AddTo("ports", render.Text("port a"), render.Text("10.0.0.1"), render.Text("up"))
	a.Add(render.Text("mac 00:00:00:00:00:01"))
	root.AddTo("ports", render.Text("port long-name"), nil, render.Text("down: no interface has this port's name"))
	root.Add(render.Text("2 ACLs"))
	tests := []struct {
		style render.Style
		want  string
	}{
		{render.Style{}, `
switch sw0  10.0.0.0/24
├─ port a          10.0.0.1  up
│  └─ mac 00:00:00:00:00:01
├─ port long-name            down: no interface has this port's name
└─ 2 ACLs
`},
		{render.Style{ASCII: true, Width: 40}, `
switch sw0  10.0.0.0/24
|- port a  10.0.0.1  up
|  ` + "`" + `- mac 00:00:00:00:00:01
|- port long-name  down: no interface
|     has this port's name
` + "`" + `- 2 ACLs
`},
		{render.Style{Width: 5}, `
switch sw0
│  10.0.0.0/24
├─ port a  10.0.0.1  up
│  └─ mac
│        00:00:00:00:00:01
├─ port long-name
│     down: no interface
│     has this port's name
└─ 2 ACLs
`},
	}
	for _, test := range tests {
		var b bytes.Buffer
		if err := render.WriteTree(&b, test.style, root); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), b.String()); diff != "" {
			t.Errorf("%+v: mismatch (-want +got):\n%s", test.style, diff)
		}
	}
}

func TestTableWidth(t *testing.T) {
	table := &render.Table{Header: []string{"PORT", "ADDRESSES", "STATE"}}
	table.Row(render.Text("shop/web-1"), render.Text("10.244.1.5 fd00:10:244:1::5"), render.Text("up"))
	table.Row(render.Text("日本語日本語日本語"), render.Text("10.244.1.6"), render.Text("down"))
	want := `PORT                ADDRESSES    STATE
shop/web-1          10.244.1.5…  up
日本語日本語日本語  10.244.1.6   down
`
	var b bytes.Buffer
	if err := render.WriteTables(&b, render.Style{Width: 38}, true, table); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestError(t *testing.T) {
	var b bytes.Buffer
	err := errString("cannot read OVN_Southbound: \x1b[31m\nhint: start it\nhint: or not")
	if err := render.Write(&b, "json", document.NewFailure(err, 3)); err != nil {
		t.Fatal(err)
	}
	want := `{
  "apiVersion": "ovnctl/v1",
  "kind": "Error",
  "source": null,
  "notes": [],
  "error": "cannot read OVN_Southbound: \u001b[31m",
  "hints": [
    "start it",
    "or not"
  ],
  "exitCode": 3
}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

type errString string

func (e errString) Error() string { return string(e) }

func TestMarkdown(t *testing.T) {
	tests := []struct{ in, out string }{
		{"shop_web-1", "shop_web-1"},
		{"_x_", `\_x\_`},
		{"a|b", `a\|b`},
		{"<b>*x*</b>", `\<b\>\*x\*\</b\>`},
		{"\x1b", `\\x1b`},
		{"[x](y)", `\[x\](y)`},
	}
	for _, test := range tests {
		if got := render.Markdown(test.in); got != test.out {
			t.Errorf("Markdown(%q) = %q, want %q", test.in, got, test.out)
		}
	}
	for in, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`": "`` ` ``", "a|b": "`a\\|b`"} {
		if got := render.MarkdownCode(in); got != want {
			t.Errorf("MarkdownCode(%q) = %q, want %q", in, got, want)
		}
	}
}
