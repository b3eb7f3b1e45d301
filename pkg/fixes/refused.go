package fixes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// A fix that is refused has no run in the journal. Undo must know of it nevertheless: who undoes the last fix does not
// mean the one before.

func (j *Journal) refusal() string { return filepath.Join(j.dir, "refused") }

// refused notes that the last fix was refused. If it cannot be noted, undo asks one time less.
func (j *Journal) refused(c *Call) {
	text, err := json.Marshal(c)
	if err != nil {
		return
	}
	f, err := openOwn(j.refusal(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return
	}
	_, err = f.Write(text)
	_ = errors.Join(err, f.Close())
}

// forgetRefusal notes that another command came after the refused fix.
func (j *Journal) forgetRefusal() { _ = os.Remove(j.refusal()) }

// Since returns in words which later fix than a run was refused or rolled back; empty if none.
func (j *Journal) Since(r *Run) string {
	var c Call
	if text, err := readOwn(j.refusal()); err == nil && json.Unmarshal(text, &c) == nil {
		return strings.Join(append([]string{c.Repair}, c.Args...), " ") + ", was refused"
	}
	runs, err := j.Runs()
	if err != nil {
		return ""
	}
	for _, later := range slices.Backward(runs) {
		if later.ID <= r.ID {
			break
		}
		if later.Damage == nil && later.State() == Undone && later.Reason() != Asked {
			return fmt.Sprintf("run %d, %s, was rolled back", later.ID, escape.Line(later.Title))
		}
	}
	return ""
}
