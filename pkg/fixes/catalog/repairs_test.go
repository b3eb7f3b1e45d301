package catalog

import (
	"os"
	"strings"
	"testing"
)

// A repair is found by its name: fix NAME is in NAME.go.
func TestFiles(t *testing.T) {
	for _, r := range Repairs {
		if _, err := os.Stat(strings.ReplaceAll(r.Name, "-", "_") + ".go"); err != nil {
			t.Errorf("repair %s: %v", r.Name, err)
		}
	}
}
