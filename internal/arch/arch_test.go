package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/ovnctl/ovnctl"

func TestArchitecture(t *testing.T) {
	files, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations(files) {
		t.Error(v)
	}
}

// Each rule is broken once, so that none can stop working unnoticed.
func TestViolations(t *testing.T) {
	tests := []struct {
		name, file, src string
		want            string // "" means that it is allowed
	}{
		{"downwards in a group", "pkg/ovsdb/a.go", `import "` + module + `/pkg/nb"`, "pkg/ovsdb/a.go:2: pkg/ovsdb imports pkg/nb, which comes after it"},
		{"upwards in a group", "pkg/nb/a.go", `import "` + module + `/pkg/ovsdb"`, ""},
		{"side by side", "pkg/nb/a.go", `import "` + module + `/pkg/sb"`, "pkg/nb imports pkg/sb, which stands beside it"},
		{"gather knows the model", "pkg/cluster/a.go", `import "` + module + `/pkg/packet"`, "which comes after it"},
		{"render knows answers", "pkg/render/a.go", `import "` + module + `/pkg/journey"`, ""},
		{"render sees a connection", "pkg/render/a.go", `import "` + module + `/pkg/ovsdb"`, "pkg/render imports pkg/ovsdb, which it must never"},
		{"values gather", "pkg/journey/a.go", `import "` + module + `/pkg/nb"`, "which it must never"},
		{"a library in a language", "pkg/ovnexpr/a.go", `import "golang.org/x/sys/unix"`, "pkg/ovnexpr imports golang.org/x/sys/unix: it may import the standard library"},
		{"a row in a language", "pkg/openflow/a.go", `import "` + module + `/pkg/nb"`, "it may import the standard library"},
		{"languages know each other", "pkg/openflow/a.go", `import "` + module + `/pkg/packet"`, ""},
		{"the product needs the lab", "pkg/node/a.go", `import "` + module + `/internal/lab"`, "pkg/node imports internal/lab: only tests and other shells do"},
		{"a test needs the lab", "pkg/node/a_test.go", `import "` + module + `/internal/lab"`, ""},
		{"the lab asks its subject", "internal/lab/cmd/lab/a.go", `import "` + module + `/pkg/trace"`, "internal/lab/cmd/lab imports pkg/trace, which internal/lab must not know"},
		{"the lab reads rows", "internal/lab/a.go", `import "` + module + `/pkg/ovsdb"`, ""},
		{"a library in its place", "pkg/node/a.go", `import "github.com/vishvananda/netlink"`, ""},
		{"a library elsewhere", "pkg/trace/a.go", `import "github.com/vishvananda/netlink"`, "only pkg/node, internal/lab may"},
		{"a library in a test elsewhere", "cmd/ovnctl/a_test.go", `import "github.com/vishvananda/netlink"`, ""},
		{"a library in another file", "pkg/render/tree.go", `import "k8s.io/client-go/util/jsonpath"`, "only pkg/render/jsonpath.go may"},
		{"a new library", "pkg/node/a.go", `import "example.com/x"`, "a library that rooms_test.go does not list"},
		{"a test library", "pkg/packet/a_test.go", `import "github.com/google/go-cmp/cmp"`, ""},
		{"a test library in the product", "pkg/node/a.go", `import "github.com/google/go-cmp/cmp"`, "only tests may"},
		{"a package for tests", "pkg/ovsdb/ovsdbtest/a.go", `import "github.com/google/go-cmp/cmp"`, ""},
		{"the product needs a package for tests", "pkg/node/a.go", `import "` + module + `/pkg/ovsdb/ovsdbtest"`, "only tests and other shells do"},
		{"a new package", "pkg/weather/a.go", ``, "pkg/weather has no place in the architecture: add it to internal/arch/rooms_test.go"},
		{"a drawer", "pkg/node/utils/a.go", ``, "pkg/node/utils: a package is named for what it is about"},
		{"doctor writes", "pkg/doctor/a.go", `func f(c C) { c.Transact() }`, "pkg/doctor calls Transact"},
		{"doctor reads", "pkg/doctor/a.go", `func f(c C) { c.Select() }`, ""},
		{"an answer prints", "pkg/trace/a.go", `import "fmt"` + "\n" + `func f() { fmt.Println() }`, "pkg/trace/a.go:3: pkg/trace uses fmt.Println"},
		{"a command prints", "cmd/ovnctl/a.go", `import "fmt"` + "\n" + `func f() { fmt.Println() }`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files, err := read(fstest.MapFS{test.file: {Data: []byte("package p\n" + test.src)}})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(violations(files), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A file is what the rules look at in a Go file. Every file counts, whatever its
// build constraints.
type file struct {
	path    string // from the module's root
	imports []mention
	names   []mention // "os.Exit" where package os is mentioned, "Transact" where a method is called
}

type mention struct {
	name string
	line int
}

func (f file) dir() string { return path.Dir(f.path) }

// test reports whether f is never part of what people install: a test, or in a
// package for tests, as ovsdbtest.
func (f file) test() bool {
	return strings.HasSuffix(f.path, "_test.go") || strings.HasSuffix(f.dir(), "test")
}

func (f file) at(m mention, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s ", f.path, m.line, f.dir()) + fmt.Sprintf(format, args...)
}

// read parses the Go files below root.
func read(root fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || len(name) > 1 && name[0] == '.'):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parse(name, src)
		files = append(files, f)
		return err
	})
	return files, err
}

func parse(name string, src []byte) (file, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{path: name}
	line := func(n ast.Node) int { return set.Position(n.Pos()).Line }
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, mention{imported, line(spec)})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				f.names = append(f.names, mention{x.Name + "." + n.Sel.Name, line(n)})
			}
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok {
				f.names = append(f.names, mention{method.Sel.Name, line(n)})
			}
		}
		return true
	})
	return f, nil
}

// violations lists what in files is against the rules, in the order of the files.
func violations(files []file) []string {
	var all []string
	seen := map[string]bool{}
	for _, f := range files {
		if !seen[f.dir()] {
			seen[f.dir()] = true
			all = append(all, misplaced(f.dir())...)
		}
		for _, m := range f.imports {
			if why := forbidden(f, m.name); why != "" {
				all = append(all, f.at(m, "imports %s%s", strings.TrimPrefix(m.name, module+"/"), why))
			}
		}
		if r, ok := roomOf(f.dir()); ok && !f.test() {
			for _, m := range f.names {
				switch {
				case slices.Contains(r.mute, m.name):
					all = append(all, f.at(m, "calls %s: it never writes", m.name))
				case slices.Contains(terminal, m.name):
					all = append(all, f.at(m, "uses %s: only commands do", m.name))
				}
			}
		}
	}
	return all
}

// misplaced says what is wrong with there being a package in dir.
func misplaced(dir string) []string {
	if slices.Contains(drawers, path.Base(dir)) {
		return []string{dir + ": a package is named for what it is about"}
	}
	if _, ok := roomOf(dir); ok || shellOf(dir) != "" {
		return nil
	}
	return []string{dir + " has no place in the architecture: add it to internal/arch/rooms_test.go, after what it imports"}
}

// forbidden says why f may not import name, "" if it may.
func forbidden(f file, name string) string {
	inner, ours := strings.CutPrefix(name, module+"/")
	first, _, _ := strings.Cut(name, "/")
	switch {
	case ours:
		return forbiddenRoom(f, inner)
	case !strings.Contains(first, "."):
		return "" // the standard library
	default:
		return forbiddenLibrary(f, name)
	}
}

func forbiddenRoom(f file, inner string) string {
	if f.test() {
		return "" // what a test may not import makes an import cycle
	}
	from, ok := roomOf(f.dir())
	if !ok {
		return forbiddenToShell(shellOf(f.dir()), inner)
	}
	to, ok := roomOf(inner)
	switch {
	case !ok:
		return ": only tests and other shells do"
	case slices.Contains(from.never, inner) || slices.Contains(from.never, to.group):
		return ", which it must never"
	case from.stdOnly && !to.stdOnly:
		return ": it may import the standard library and its likes only"
	case to.place == from.place:
		return ", which stands beside it"
	case to.place > from.place:
		return ", which comes after it"
	}
	return ""
}

func forbiddenToShell(shell, inner string) string {
	allowed := shells[shell]
	if allowed == nil {
		return "" // misplaced speaks of it
	}
	to, _ := roomOf(inner)
	for _, a := range allowed {
		if a == to.group || below(inner, a) {
			return ""
		}
	}
	return ", which " + shell + " must not know"
}

func forbiddenLibrary(f file, name string) string {
	if r, ok := roomOf(f.dir()); ok && r.stdOnly && !f.test() {
		return ": it may import the standard library and its likes only"
	}
	for _, lib := range testLibraries {
		if below(name, lib) && !f.test() {
			return ", which only tests may"
		} else if below(name, lib) {
			return ""
		}
	}
	for lib, places := range libraries {
		if !below(name, lib) {
			continue
		}
		if f.test() {
			return "" // a test may check with it what the product made with it
		}
		for _, place := range places {
			if below(f.path, place) {
				return ""
			}
		}
		return ", which only " + strings.Join(places, ", ") + " may"
	}
	return ", a library that rooms_test.go does not list"
}

// A placed room is one with its place in the order.
type placed struct {
	rule
	group string
	place int
}

// roomOf finds the room of the package in dir.
func roomOf(dir string) (placed, bool) {
	place := 0
	for _, g := range groups {
		for _, r := range g.rooms {
			place++
			if slices.Contains(r.paths, dir) {
				return placed{r.rule, g.name, place}, true
			}
		}
	}
	return placed{}, false
}

// shellOf finds the shell that dir is in or below.
func shellOf(dir string) string {
	for shell := range shells {
		if below(dir, shell) {
			return shell
		}
	}
	return ""
}

// below reports whether name is place or a path below it.
func below(name, place string) bool {
	return name == place || strings.HasPrefix(name, place+"/")
}
