package decode

import (
	"fmt"
	"os"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// upLab is the lab that theLab brought up, nil as long as no test asked.
var upLab *lab.Lab

func TestMain(m *testing.M) {
	code := m.Run()
	if upLab != nil {
		if err := upLab.Down(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
