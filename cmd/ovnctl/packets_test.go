package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A sentPacket is a row of a deployment's .packets file.
type sentPacket struct {
	args  []string
	lost  bool   // what became of the packet
	wrong bool   // ovnctl says otherwise today
	cause string // part of what trace has to say of why
}

var causeLine = regexp.MustCompile(`(?m)^  cause: .*$`)

func sentPackets(t *testing.T, file string) []sentPacket {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []sentPacket
	for line := range strings.Lines(string(text)) {
		row, remark, _ := strings.Cut(line, ";")
		_, cause, _ := strings.Cut(remark, "| ")
		rest, wrong := strings.CutPrefix(row, "?")
		if words := strings.Fields(rest); len(words) > 2 && words[0] != "#" {
			list = append(list, sentPacket{args: words[1:], lost: words[0] == "lost", wrong: wrong, cause: strings.TrimSpace(cause)})
		}
	}
	return list
}

// What trace says of real deployments is what became of the packets that were sent there. A row with a question mark is
// answered wrongly: who repairs it removes the mark.
func TestDeploymentPackets(t *testing.T) {
	t.Parallel()
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			packets := sentPackets(t, "../../testdata/deployments/"+d.file+".packets")
			every := 1
			if testing.Short() {
				every = 30
			}
			for i := 0; i < len(packets); i += every {
				p := packets[i]
				t.Run(strings.Join(p.args, " "), func(t *testing.T) {
					t.Parallel()
					var out, errs strings.Builder
					code := run(t.Context(), append([]string{"--offline", "../../testdata/deployments/" + d.file + ".tar.zst", "trace"}, p.args...), strings.NewReader(""), &out, &errs)
					want := exitOK
					if p.lost {
						want = exitFound
					}
					switch {
					case code == want && p.wrong:
						t.Errorf("it is right now: remove the question mark in %s.packets", d.file)
					case code != want && !p.wrong:
						t.Errorf("exit code %d, want %d\n%s%s", code, want, out.String(), errs.String())
					case p.cause != "" && !strings.Contains(causeLine.FindString(out.String()), p.cause):
						t.Errorf("the cause does not name %q\n%s", p.cause, out.String())
					}
				})
			}
		})
	}
}
