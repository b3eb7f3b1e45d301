//go:build releases

package ovsdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesFiles is TestLabFiles on other releases of OVS and OVN.
func TestReleasesFiles(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		for _, members := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s/%d members", release, members), func(t *testing.T) {
				install(t, release)
				labFiles(t, lab.KubeOVN(), lab.Options{Release: release, Cluster: members})
			})
		}
	}
}

// TestReleasesUpgrade has servers of the newest release convert the databases of the oldest to their own schema,
// each as it is and as a cluster's, and reads the files with the conversion in them.
func TestReleasesUpgrade(t *testing.T) {
	old := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	files := map[string][]byte{}
	for _, f := range servedFiles(old) {
		if f.host == "central" {
			text, err := os.ReadFile(f.file)
			if err != nil {
				t.Fatal(err)
			}
			files[f.db] = text
		}
	}
	if err := old.Down(); err != nil {
		t.Fatal(err)
	}
	install(t, "sid")
	l := labtest.Own(t, lab.MixedEncapsulation(), lab.Options{Release: "sid"})
	dir := filepath.Join(l.Dir, "upgrade") // the release's programs see the lab's directory
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for db, schema := range map[string]string{"OVN_Northbound": "ovn-nb", "OVN_Southbound": "ovn-sb"} {
		for _, clustered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/clustered=%v", db, clustered), func(t *testing.T) {
				f := servedFile{"central", db, dir, schema + ".sock", "", filepath.Join(dir, fmt.Sprintf("%s-%v.db", db, clustered))}
				if err := os.WriteFile(f.file, files[db], 0o600); err != nil {
					t.Fatal(err)
				}
				if clustered {
					whole := filepath.Join(dir, db+"-cluster.db")
					f.do(t, l, "ovsdb-tool", "create-cluster", whole, f.file, "tcp:127.0.0.1:16644")
					f.file = whole
				}
				control := filepath.Join(dir, schema+".ctl")
				f.do(t, l, "ovsdb-server", "-vconsole:off", "-vfile:off", "--detach", "--no-chdir", "--pidfile="+filepath.Join(dir, schema+".pid"),
					"--unixctl="+control, "--remote=punix:"+filepath.Join(dir, f.socket), f.file)
				defer f.do(t, l, "ovs-appctl", "-t", control, "exit")
				remote := "unix:" + filepath.Join(dir, f.socket)
				f.do(t, l, "ovsdb-client", "--timeout=30", "wait", remote, db, "connected")
				before := f.compare(t, l, "before")
				was := open(t, f.file).Version()
				f.do(t, l, "ovsdb-client", "--timeout=30", "convert", remote, "/usr/share/ovn/"+schema+".ovsschema")
				time.Sleep(100 * time.Millisecond)
				after := f.compare(t, l, "converted")
				is := open(t, f.file).Version()
				if before < 50 || after < 50 || was == is {
					t.Errorf("%d rows of schema %s, then %d of %s: nothing was converted", before, was, after, is)
				}
				f.do(t, l, "ovs-appctl", "-t", control, "ovsdb-server/compact", db)
				if compacted := f.compare(t, l, "compacted"); compacted != after {
					t.Errorf("%d rows, and %d after compaction", after, compacted)
				}
				t.Logf("schema %s: %d rows, %s: %d rows", was, before, is, after)
			})
		}
	}
}

func install(t *testing.T, release string) {
	t.Helper()
	if _, err := lab.Install(t.Context(), release); err != nil {
		t.Fatal(err)
	}
}
