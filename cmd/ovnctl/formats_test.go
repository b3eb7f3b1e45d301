package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// What completion offers after -o is what the command takes: it lists that where it is given something else.
func TestOutputFormats(t *testing.T) {
	tried := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		formats := outputFormats(cmd)
		if formats == nil {
			return
		}
		args := strings.Fields(cmd.CommandPath())[1:]
		switch cmd.Name() {
		case "topology", "show", "flows", "doctor", "list", "undo", "recover", "decode", "demo", "version":
		case "get":
			args = append(args, "pods")
		case "fix":
			args = append(args, "enable-port", "p")
		case "explain":
			args = append(args, "dropped")
		case "capture", "report":
			args = append(args, t.TempDir()+"/x.tar.gz")
		case "compare":
			args = append(args, "demo:healthy", "demo:broken")
		default:
			args = append(args, "a", "b")
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "-o", "sculpture"), strings.NewReader(""), &out, &errs)
		if want := "expected one of " + strings.Join(formats, ", ") + "\n"; code != exitUsage || !strings.HasSuffix(errs.String(), want) {
			t.Errorf("%s: exit %d, %swant: %s", cmd.CommandPath(), code, errs.String(), want)
		}
		tried++
	}
	walk(newRoot(&options{}, ""))
	if tried < 14 {
		t.Errorf("only %d commands have formats", tried)
	}
}

func TestValueCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"topology show -o":                    "tree table wide json yaml md svg html dot mermaid",
		"get pods -o":                         "table wide name json yaml md jsonpath= custom-columns=",
		"--color":                             "auto always never",
		"flows --stage":                       strings.Join(decode.Stages(), " "),
		"doctor --max-risk":                   "low medium high",
		"fix --max-risk":                      "low medium high",
		"doctor --fail-on":                    "error warning never",
		"fix undo --state-dir " + t.TempDir(): "",
	} {
		var out, errs bytes.Buffer
		run(t.Context(), append(append([]string{"__complete"}, strings.Fields(args)...), ""), strings.NewReader(""), &out, &errs)
		got := strings.Fields(out.String())
		if len(got) == 0 || strings.Join(got[:len(got)-1], " ") != want { // the last is the directive
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
