package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A sentPacket is a row of a deployment's .packets file.
type sentPacket struct {
	args  []string
	lost  bool                // what became of the packet
	wrong bool                // ovnctl says otherwise today
	cause map[string][]string // values of trace's verdict: one of each
}

// cause returns what a verdict's cause is compared by.
func (v *verdictValues) cause() map[string]string {
	named := func(name string) string { return cmp.Or(v.Names[name], name) }
	return map[string]string{
		"owner": v.Verdict.Object.Owner, "name": v.Verdict.Object.Name, "stage": v.Verdict.Stage,
		"port": named(v.Verdict.Port), "datapath": named(v.Verdict.Datapath),
	}
}

// verdictValues are what the tests read of trace's answer.
type verdictValues struct {
	Names   map[string]string
	Verdict struct {
		Stage, Port, Datapath string
		Object                struct{ Owner, Name string }
	}
}

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
			p := sentPacket{args: words[1:], lost: words[0] == "lost", wrong: wrong, cause: map[string][]string{}}
			for value := range strings.SplitSeq(strings.TrimSpace(cause), ", ") {
				if key, text, ok := strings.Cut(value, "="); ok {
					p.cause[key] = strings.Split(text, " or ")
				}
			}
			if p.lost && len(p.cause) == 0 {
				t.Fatalf("%s says not why %s are lost", file, words[1:])
			}
			list = append(list, p)
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
					code := run(t.Context(), append([]string{"--offline", "../../testdata/deployments/" + d.file + ".tar.zst", "trace", "-o", "json"}, p.args...), strings.NewReader(""), &out, &errs)
					want := exitOK
					if p.lost {
						want = exitFound
					}
					switch {
					case code == want && p.wrong:
						t.Errorf("it is right now: remove the question mark in %s.packets", d.file)
					case code != want && !p.wrong:
						t.Errorf("exit code %d, want %d\n%s%s", code, want, out.String(), errs.String())
					case p.lost && !p.wrong:
						var v verdictValues
						if err := json.Unmarshal([]byte(out.String()), &v); err != nil {
							t.Fatalf("%v\n%s", err, out.String())
						}
						got := v.cause()
						for key, want := range p.cause {
							if !slices.Contains(want, got[key]) {
								t.Errorf("the cause has %s %q, want one of %q\n%s", key, got[key], want, out.String())
							}
						}
					}
				})
			}
		})
	}
}

// A packet that is larger than what its router lets pass is rejected there, by the flows of the switch and by the logical flows.
func TestDeploymentPacketLength(t *testing.T) {
	const path, why = "../../testdata/deployments/ovnk-1.3-ic.tar.zst", "larger than the 1414 bytes that may pass rtos-ovn-control-plane"
	for _, flags := range [][]string{nil, {"--logical"}} {
		for length, want := range map[int]string{1414: "DELIVERED", 1415: "REJECTED"} {
			args := append([]string{"--offline", path, "trace", "shop/client", "203.0.113.10", "--tcp=8080", fmt.Sprintf("--length=%d", length)}, flags...)
			var out, errs strings.Builder
			run(t.Context(), args, strings.NewReader(""), &out, &errs)
			if said := out.String(); !strings.HasPrefix(said, want) || strings.Contains(said, why) != (want == "REJECTED") {
				t.Errorf("%q: want %s:\n%s%s", args, want, said, errs.String())
			}
		}
	}
}
