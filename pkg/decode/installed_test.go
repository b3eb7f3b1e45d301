//go:build lab

package decode

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every stage that the installed ovn-northd names has words.
func TestExplainInstalled(t *testing.T) {
	binary, err := os.ReadFile("/usr/bin/ovn-northd")
	if err != nil {
		t.Fatal(err)
	}
	stages := 0
	for _, name := range regexp.MustCompile(`\x00l[sr]_(in|out)_[a-z0-9_]+\x00`).FindAllString(string(binary), -1) {
		stage := strings.Trim(name, "\x00")
		stages++
		if explainStage(stage) == stage {
			t.Errorf("no words for %s", stage)
		}
	}
	if stages < 30 {
		t.Errorf("found %d stages in ovn-northd", stages)
	}
}
