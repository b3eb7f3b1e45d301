package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/architecture.md"

// TestPackageDocs holds that every package says in its first sentence what it is for.
func TestPackageDocs(t *testing.T) {
	for dir, sentence := range synopses(t) {
		switch {
		case sentence == "":
			t.Errorf("%s has no package comment", dir)
		case !strings.HasPrefix(sentence, "Package "+path.Base(dir)+" ") && !strings.HasPrefix(sentence, "Command "+path.Base(dir)+" "):
			t.Errorf("%s: its comment begins %q", dir, sentence)
		case len(sentence) > 200:
			t.Errorf("%s: its first sentence has %d characters: say in one short sentence what the package is for", dir, len(sentence))
		}
	}
}

// TestPage holds that docs/architecture.md shows the packages as they are, and that each place it names is there.
// OVNCTL_UPDATE=1 writes the table of packages again.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- rooms: written by internal/arch -->\n", "<!-- end of rooms -->\n"
	before, rest, ok := bytes.Cut(text, []byte(begin))
	shown, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("%s has no %q … %q", page, begin, end)
	}
	now := roomsTable(t)
	switch {
	case string(shown) == now:
	case os.Getenv("OVNCTL_UPDATE") != "":
		if err := os.WriteFile(page, bytes.Join([][]byte{before, []byte(begin + now + end), after}, nil), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows other packages than there are; OVNCTL_UPDATE=1 go test ./internal/arch rewrites it", page)
	}
	for _, m := range regexp.MustCompile("`((?:pkg|cmd|internal|docs|testdata|scripts)/[^`*{ ]*)`").FindAllSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("../..", string(m[1]))); err != nil {
			t.Errorf("%s names %s, which is not there", page, m[1])
		}
	}
}

// roomsTable is all packages in the order of the flow, each with its first sentence.
func roomsTable(t *testing.T) string {
	t.Helper()
	sentences := synopses(t)
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n", g.name)
		for _, r := range g.rooms {
			for _, dir := range r.paths {
				fmt.Fprintf(&b, "- `%s` %s\n", dir, said(sentences[dir]))
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}

// said is a package comment's first sentence without its beginning: "Package nb holds" is "holds".
func said(sentence string) string {
	words := strings.SplitN(sentence, " ", 3)
	return words[len(words)-1]
}

// synopses are the first sentences of the packages' comments, by their folders.
func synopses(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(name) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") && path.Dir(name) != "internal/arch":
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if s := sentence(f); s != "" || all[dir] == "" {
			all[dir] = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sentence(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return new(doc.Package).Synopsis(f.Doc.Text())
}
