//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestUnreadableServers gives a Southbound that cannot be read beside a Northbound that can: the answer is what could be read, the
// error names the database, the place, the reason and the next step, and a program gets the same as notes.
func TestUnreadableServers(t *testing.T) {
	nb := ovsdbtest.Start(t, ovsdbtest.Northbound)
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+nb.Remote(), "--timeout=10", "ls-add", "sw0", "--", "lsp-add", "sw0", "web")
	pki := ovsdbtest.NewPKI(t)
	key, cert := pki.Sign("client", "switch")
	serverKey, serverCert := pki.Sign("server", "switch")
	address := ovsdbtest.Address(t, "127.0.0.1")
	ovsdbtest.Start(t, ovsdbtest.Southbound, "--remote="+ovsdbtest.Passive("ssl", address),
		"--private-key="+serverKey, "--certificate="+serverCert, "--ca-cert="+pki.CA("switch"))
	dead := ovsdbtest.Start(t, ovsdbtest.Southbound)
	dead.Kill()
	silent := silentServer(t)
	refused := "tcp:" + ovsdbtest.Address(t, "127.0.0.1")
	refused6 := "tcp:" + ovsdbtest.Address(t, "::1")
	other := ovsdbtest.Start(t, ovsdbtest.OpenvSwitch).Remote()
	ssl := "ssl:" + address
	for _, c := range []struct {
		name   string
		sb     string
		flags  []string
		reason string
	}{
		{"no socket", "unix:/nonexistent/sb.sock", nil, "no such socket"},
		{"dead socket", dead.Remote(), nil, "connection refused"},
		{"refused", refused, nil, "connection refused"},
		{"refused over IPv6", refused6, nil, "connection refused"},
		{"silent", silent, nil, "no reply within the time limit"},
		{"unknown host", "tcp:nosuchhost.invalid:6642", nil, "nosuchhost.invalid"},
		{"another database", other, nil, "OVN_Southbound"},
		{"no TLS files", ssl, nil, "ssl needs the CA certificate"},
		{"missing TLS files", ssl, []string{"-p", "/nonexistent/k", "-c", cert, "-C", pki.CA("switch")}, "/nonexistent/k"},
		{"wrong TLS files", ssl, []string{"-p", cert, "-c", key, "-C", pki.CA("switch")}, ""},
		{"wrong CA", ssl, []string{"-p", key, "-c", cert, "-C", pki.CA("controller")}, "not signed by the CA"},
		{"no client certificate", ssl, []string{"-C", pki.CA("switch")}, ""},
		{"TLS to a plain socket", strings.Replace(refused, "tcp:", "ssl:", 1), []string{"-p", key, "-c", cert, "-C", pki.CA("switch")}, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--nb", nb.Remote(), "--sb", c.sb, "-t", "2"}, c.flags...)
			r := hard(t, nil, append(args, "topology", "show")...)
			r.want(t, exitUnknown, "cannot read OVN_Southbound at "+c.sb+": ", c.reason, " (")
			if !bytes.Contains(r.stdout, []byte("switch sw0")) {
				t.Errorf("the Northbound is not shown\n%s", r)
			}
			if r.took > 5*time.Second {
				t.Errorf("took %s with a timeout of 2 s\n%s", r.took, r)
			}
			r = hard(t, nil, append(args, "-o", "json", "topology", "show")...)
			r.want(t, exitUnknown)
			var doc struct {
				Kind     string
				Notes    []string
				Switches []struct{ Name string }
			}
			if err := json.Unmarshal(r.stdout, &doc); err != nil || doc.Kind != "Topology" || len(doc.Switches) != 1 || !strings.Contains(strings.Join(doc.Notes, "\n"), c.sb) {
				t.Errorf("want the switch, and the Southbound in the notes: %v\n%s", err, r)
			}
			// Nothing at all can be read.
			all := append([]string{"--nb", c.sb, "--sb", c.sb, "--ovs", "unix:/nonexistent/db.sock", "-t", "1"}, c.flags...)
			inEveryFormat(t, exitUnknown, append(all, "topology", "show"), "OVN_Southbound at "+c.sb, "OVN_Northbound at "+c.sb, "hint: ")
		})
	}
}

// TestSilentServers bounds the time of a command of which every source is silent.
func TestSilentServers(t *testing.T) {
	a, b, c := silentServer(t), silentServer(t), silentServer(t)
	for _, args := range [][]string{{"topology", "show"}, {"trace", "a/b", "c/d"}} {
		r := hard(t, nil, append([]string{"--nb", a + "," + b, "--sb", b + "," + c, "--ovs", c, "-t", "1"}, args...)...)
		if r.want(t, exitUnknown, "no reply"); r.took > 3*time.Second {
			t.Errorf("took %s with a timeout of 1 s\n%s", r.took, r)
		}
	}
}

// TestTraceWithoutSouthbound asks for a way whose chassis nobody can tell: that is no verdict.
func TestTraceWithoutSouthbound(t *testing.T) {
	for _, sb := range []string{"", "unix:/nonexistent/sock", silentServer(t)} {
		args := []string{"--nb", twoPodsOfOneName(t), "-t", "1", "trace", "blue/web", "green/web"}
		if sb != "" {
			args = append([]string{"--sb", sb}, args...)
		}
		for _, format := range []string{"tree", "json", "yaml", "md"} {
			r := hard(t, nil, append([]string{"-o", format}, args...)...)
			r.want(t, exitUnknown)
			if bytes.Contains(bytes.ToLower(r.stdout), []byte("dropped")) || !bytes.Contains(bytes.ToLower(r.stdout), []byte("unknown")) {
				t.Errorf("want the verdict unknown\n%s", r)
			}
			if strings.Contains(string(r.stderr), "cannot read OVN_Northbound") {
				t.Errorf("the Northbound can be read\n%s", r)
			}
		}
	}
}

// TestNoSouthbound leaves the Southbound out of saved data: nothing is called missing or down because of it.
func TestNoSouthbound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "net")
	check(t, os.CopyFS(dir, os.DirFS(saved)))
	remove(t, filepath.Join(dir, "sb.db"))
	r := hard(t, nil, "--offline", dir, "topology", "show")
	r.want(t, exitOK)
	for _, claim := range []string{"no chassis maps", "has no Port_Binding", "nowhere", "missing"} {
		if bytes.Contains(r.stdout, []byte(claim)) {
			t.Errorf("%q cannot be known\n%s", claim, r)
		}
	}
}

// TestDamagedFiles damages saved databases, one at a time: the file and the reason are named, the others are shown, and what the
// damaged one may have held is not taken for missing.
func TestDamagedFiles(t *testing.T) {
	cut := func(size int) func(*testing.T, string) {
		return func(t *testing.T, file string) { truncate(t, file, size) }
	}
	damages := []struct {
		name string
		make func(t *testing.T, file string)
	}{
		{"empty", cut(0)},
		{"cut in the schema", cut(3000)},
		{"cut in the rows", cut(-2000)},
		{"garbage", func(t *testing.T, file string) { write(t, file, strings.Repeat("\x00\xff\x1b[31m garbage\n", 1000)) }},
		{"garbage in the rows", func(t *testing.T, file string) {
			b := read(t, file)
			copy(b[len(b)-2000:], strings.Repeat("\x1b[31m", 100))
			write(t, file, string(b))
		}},
		{"another database", func(t *testing.T, file string) { write(t, file, string(read(t, filepath.Join(saved, another(file))))) }},
		{"directory", func(t *testing.T, file string) { remove(t, file); check(t, os.Mkdir(file, 0o755)) }},
		{"fifo", func(t *testing.T, file string) { remove(t, file); check(t, syscall.Mkfifo(file, 0o644)) }},
		{"dangling link", func(t *testing.T, file string) { remove(t, file); check(t, os.Symlink("../../etc/passwd", file)) }},
	}
	for _, file := range []string{"nb.db", "sb.db", "node1/conf.db"} {
		for _, d := range damages {
			t.Run(file+" "+d.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "net")
				check(t, os.CopyFS(dir, os.DirFS(saved)))
				d.make(t, filepath.Join(dir, file))
				r := hard(t, nil, "--offline", dir, "topology", "show")
				r.want(t, exitUnknown, file)
				unclean(t, r)
				if !bytes.Contains(r.stdout, []byte("shop_web-1")) && !bytes.Contains(r.stdout, []byte("shop/web-1")) {
					t.Errorf("the other databases are not shown\n%s", r)
				}
				if file == "sb.db" && bytes.Contains(r.stdout, []byte("the Southbound has no Port_Binding")) {
					t.Errorf("what a damaged Southbound lacks is not known to be missing\n%s", r)
				}
				r = hard(t, nil, "--offline", dir, "-o", "json", "topology", "show")
				r.want(t, exitUnknown)
				if !json.Valid(r.stdout) || !bytes.Contains(r.stdout, []byte(file)) {
					t.Errorf("want JSON with %s in the notes\n%s", file, r)
				}
			})
		}
	}
}

// TestWrongDirectories gives --offline what is no saved deployment.
func TestWrongDirectories(t *testing.T) {
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	write(t, file, "text")
	fifo := filepath.Join(t.TempDir(), "fifo")
	check(t, syscall.Mkfifo(fifo, 0o644))
	for path, reason := range map[string]string{
		"/nonexistent/dir":                    "no such file or directory",
		empty:                                 "nb.db",
		file:                                  "neither nb.db nor sb.db",
		fifo:                                  "neither a directory nor a file",
		filepath.Join(saved, "\x1b[31m\nred"): "no such file or directory",
	} {
		for _, args := range [][]string{{"topology", "show"}, {"trace", "a", "b"}} {
			inEveryFormat(t, exitUnknown, append([]string{"--offline", path}, args...), reason, "hint: ")
			r := hard(t, nil, append([]string{"--offline", path}, args...)...)
			unclean(t, r)
		}
	}
}

func another(file string) string {
	if filepath.Base(file) == "nb.db" {
		return "sb.db"
	}
	return "nb.db"
}

// truncate leaves the first size bytes of a file, or takes the last -size.
func truncate(t *testing.T, file string, size int) {
	t.Helper()
	if size < 0 {
		size += len(read(t, file))
	}
	check(t, os.Truncate(file, int64(size)))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	check(t, err)
	return b
}

func write(t *testing.T, file, text string) {
	t.Helper()
	check(t, os.WriteFile(file, []byte(text), 0o644))
}

func remove(t *testing.T, file string) {
	t.Helper()
	check(t, os.Remove(file))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
