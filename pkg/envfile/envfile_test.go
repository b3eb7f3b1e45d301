package envfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSystemd(t *testing.T) {
	tests := []struct {
		text string
		want string // NAME=VALUE|… with "!" in front of those that are ignored
	}{
		{``, ``},
		{"# comment\n; comment\nA=b\n", "A=b"},
		{"A=b", "A=b"},
		{"A=\"b c\"\n", "A=b c"},
		{"A='b c'\n", "A=b c"},
		{"A=b c \n", "A=b c"},
		{"A = b\n", "A=b"},
		{"A=$A b\n", "A=$A b"},
		{"A=\"$A b\"\n", "A=$A b"},
		{"A=\"\\$A \\\"b\\\"\"\n", `A=$A "b"`},
		{"A='b' # c\n", "A=b# c"},
		{"A=b # c\n", "A=b # c"},
		{"A=\"b\" \"c\"\n", "A=bc"},
		{"A=b\"c\"\n", `A=b"c"`},
		{"A=b\\\nc\nB=d", "A=bc|B=d"},
		{"A=\"b\nc\"\nB=d\n", "A=b\nc|B=d"},
		{"A=\"b\nB=d\n", "A=b\nB=d\n"},
		{"export A=b\n", "!export A=b"},
		{"A+=b\n", "!A+=b"},
		{"A=\nB=c\n", "A=|B=c"},
		{"A=b\r\nB=c\r\n", "A=b|B=c"},
		{"junk\nA=b\n", "A=b"},
		{"A=1\nA=2\n", "A=1|A=2"},
		{"\ufeffA=b\n", "!\ufeffA=b"},
		{"A=yesB=\"c\"\n", `A=yesB="c"`},
		{"# a \\\nA=b\n", "A=b"},
	}
	for _, test := range tests {
		var got []string
		for _, a := range Systemd([]byte(test.text), false).Assignments {
			s := a.Name + "=" + a.Value
			if a.Ignored {
				s = "!" + s
			}
			got = append(got, s)
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%q is read as %q, want %q", test.text, got, test.want)
		}
	}
	if a := Systemd([]byte("# a \\\nA=b\nC=d\n"), true).Assignments; len(a) != 1 || a[0].Name != "C" {
		t.Errorf("a comment does not go on: %v", a)
	}
}

// Assignments and comments name the lines that they take.
func TestPlaces(t *testing.T) {
	text := "# one\n\nA=b\nB=\"c\nd\"\n  C=e"
	f := Systemd([]byte(text), false)
	var got []string
	for _, a := range f.Assignments {
		got = append(got, text[a.Start:a.End])
	}
	for _, c := range f.Comments {
		got = append(got, text[c.Start:c.End])
	}
	if diff := cmp.Diff([]string{"A=b\n", "B=\"c\nd\"\n", "  C=e", "# one\n"}, got); diff != "" {
		t.Error(diff)
	}
	if f.Assignments[1].Line != 4 || f.Assignments[2].Line != 6 {
		t.Errorf("lines %d and %d", f.Assignments[1].Line, f.Assignments[2].Line)
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		value string
		want  []string
	}{
		{"", nil},
		{" a  b\n", []string{"a", "b"}},
		{"--x='a b' c", []string{"--x=a b", "c"}},
		{`"a b" ''`, []string{"a b", ""}},
		{`a\ b`, []string{"a b"}},
		{`a "b`, []string{"a", "b"}},
	}
	for _, test := range tests {
		if got := Words(test.value); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.value, got, test.want)
		}
	}
}

// The real shell says what Shell should say.
func TestShell(t *testing.T) {
	texts := []string{
		"A=b\n", "A='b c'\n", "A=\"b c\" # d\n", "A=b # d\nA=\"$A e\"\n", "A=1\nA=\"${A} 2\"\n", "export A=b\n",
		"A=\"$A --x\"\n", "A=b; B=c\n", "# A=b\n", "A=b\\\nc\n", "A=\"b\nc\"\n", "A=b A=c true\n", "A=${B:-d}\n", "A=\"\\$A\\\"\"\n",
		"A=a'b'\"c\"d\n", "A=\n", "A=$B\n", "B=x A=$B\n", "test -e /nope && A=b\n", "A=a#b\n",
	}
	for _, text := range texts {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", "-c", `unset A B; . "$0"; printf %s "${A-unset}"`, path).Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := "unset"
		if a := LastShell([]byte(text), "A"); a != nil {
			got = a.Value
		}
		if got != string(out) && !strings.Contains(text, "&&") {
			t.Errorf("%q is read as %q, the shell says %q", text, got, out)
		}
	}
}

// Neither reader fails on anything, and what Quote writes both read alike.
func FuzzRead(f *testing.F) {
	f.Add("A=\"$A b\"\n# c\\\nB='x")
	f.Add("--x='a b' $(c) `d` \\")
	f.Fuzz(func(t *testing.T, text string) {
		Systemd([]byte(text), true)
		for _, a := range Systemd([]byte(text), false).Assignments {
			if a.Start > a.End || a.End > len(text) {
				t.Fatalf("%q: %v", text, a)
			}
		}
		shell([]byte(text))
		if strings.ContainsAny(text, "\x00") {
			return
		}
		line := []byte("A=" + Quote(text) + "\n")
		if a := Systemd(line, false).Last("A"); a == nil || a.Value != text {
			t.Fatalf("%q: systemd reads %v", text, a)
		}
		if a := LastShell(line, "A"); a == nil || a.Value != text {
			t.Fatalf("%q: a shell reads %v", text, a)
		}
	})
}
