package main

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/picture/picturetest"
)

var keep = flag.String("keep", "", "a directory to write pictures to, to look at them")

// pictured runs a command whose output is a picture, and checks that it can be read.
func pictured(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), append(args, "-o", "svg"), strings.NewReader(""), &out, &errs); code > exitFound && code != exitUnknown || errs.Len() > 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, errs.String())
	}
	if *keep != "" {
		file := filepath.Join(*keep, strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())+".svg")
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	picturetest.Check(t, out.Bytes())
	return out.Bytes()
}

// documentedPictures are those of docs/pictures, with the command that draws each.
var documentedPictures = map[string][]string{
	"topology": {"--offline", "demo", "topology", "show"},
	"dropped":  {"--offline", "demo", "trace", "shop/client", "bank/vault-2", "--tcp", "8080"},
	"reply":    {"--offline", "demo", "trace", "shop/client", "203.0.113.10"},
	"findings": {"--offline", "demo", "doctor"},
	"changes":  {"compare", "demo:healthy", "demo:broken"},
	"reach":    {"--offline", "demo", "reach", "all", "all", "--tcp", "8080"},
	"backends": {"--offline", "demo", "trace", "shop/client", "svc:shop/web", "--tcp", "80"},
}

// TestDocsPictures compares the pictures in the pages with what the commands draw now; make golden draws them again.
func TestDocsPictures(t *testing.T) {
	for name, args := range documentedPictures {
		t.Run(name, func(t *testing.T) {
			now := pictured(t, args...)
			file := filepath.Join("../../docs/pictures", name+".svg")
			shown, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			switch {
			case bytes.Equal(shown, now):
			case *update:
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, now, 0o644)); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is not what ovnctl draws any more: make golden draws it", file)
			}
		})
	}
}

// Real deployments and parts of them can be read.
func TestDeploymentsPictured(t *testing.T) {
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			offline := []string{"--offline", "../../testdata/deployments/" + d.file + ".tar.zst"}
			for _, args := range [][]string{
				{"doctor"}, {"reach", "all", "all"}, {"topology", "show"}, {"topology", "show", "--logical"}, {"topology", "show", "--physical"}, {"topology", "show", "node:" + d.nodes[1]},
			} {
				t.Run(strings.Join(args, " "), func(t *testing.T) { pictured(t, append(offline, args...)...) })
			}
		})
	}
}

// Paths in real deployments can be read: within a node, over tunnels, through gateways and load balancers, lost and replied to.
func TestDeploymentPathsPictured(t *testing.T) {
	for name, pairs := range map[string][][]string{
		"ovn-kubernetes": {
			{"shop/client", "shop/web-3", "--tcp", "8080"}, {"shop/client", "bank/vault-2", "--tcp", "8080"}, {"shop/client", "svc:shop/web", "--tcp", "80"},
			{"shop/client", "172.19.0.1"}, {"exit/walker", "198.51.100.1"}, {"blue/b-1", "blue/b-2"}, {"shop/client", "node:ovn-worker2"}, {"fence/cell", "8.8.8.8"},
		},
		"neutron":  {{"web-1", "db-1"}, {"web-1", "lab-1"}, {"web-1", "198.51.100.1"}, {"vlan-1", "vlan-2"}, {"ip:198.51.100.1", "198.51.100.160", "--tcp", "2222"}},
		"kube-ovn": {{"shop/client", "bank/vault-1"}, {"tenant/app-1", "198.51.100.1"}, {"shop/client", "10.96.0.10", "--tcp", "80"}, {"tenant/app-2", "tenant/app-1"}, {"shop/client", "203.0.113.1"}},
	} {
		for _, pair := range pairs {
			t.Run(name+" "+strings.Join(pair[:2], " "), func(t *testing.T) {
				pictured(t, slices.Concat([]string{"--offline", "../../testdata/deployments/" + deployments[name].file + ".tar.zst", "trace"}, pair)...)
			})
		}
	}
}
