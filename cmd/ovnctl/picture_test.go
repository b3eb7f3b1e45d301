package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/picture/picturetest"
)

// pictured runs a command whose output is a picture, and checks that it can be read.
func pictured(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), append(args, "-o", "svg"), strings.NewReader(""), &out, &errs); code > exitFound || errs.Len() > 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, errs.String())
	}
	picturetest.Check(t, out.Bytes())
	return out.Bytes()
}

// documentedPictures are those of docs/pictures, with the command that draws each.
var documentedPictures = map[string][]string{
	"topology": {"--offline", "demo", "topology", "show"},
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
				{"topology", "show"}, {"topology", "show", "--logical"}, {"topology", "show", "--physical"}, {"topology", "show", "node:" + d.nodes[1]},
			} {
				t.Run(strings.Join(args[2:], " "), func(t *testing.T) { pictured(t, append(offline, args...)...) })
			}
		})
	}
}
