package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/record"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// A try is a command to try with a built-in capture.
type try struct {
	offline string // value for --offline; empty if the arguments name it
	args    string
	stdin   string
	shows   string
}

// tries are in the order of a typical investigation.
var tries = []try{
	{demo.Name, "topology show", "", "the network: switches, routers, pods, and the nodes that carry them"},
	{demo.Name, "trace shop/client shop/web-2 --tcp 8080", "", "the path of a packet from one node to another, and of its reply"},
	{demo.Name, "trace shop/client bank/vault-2 --tcp 8080 --why-not", "", "a network policy denies it: which rule, which part of it, and what would allow it"},
	{demo.Name, "trace shop/client 203.0.113.10", "", "it gets out, and the reply is lost: a router sends it to a MAC address that no host has"},
	{demo.Name, "trace shop/client svc:shop/web --tcp 80", "", "two of three backends reply: the node of the third has lost its uplink"},
	{demo.Name, "doctor", "", "what is broken: a MAC binding and an uplink, with evidence and fix"},
	{demo.Name, "reach shop/ bank/ --tcp 8080", "", "who can talk to whom, and which policy says no"},
	{demo.Healthy, "reach shop/ bank/ --tcp 8080", "", "the same before the policy was changed"},
	{"", "compare " + demo.Healthy + " " + demo.Broken, "", "what differs between the two, down to the flows"},
	{demo.Name, "flows --node node2 --pod bank/vault-2 --drops", "", "the OpenFlow flows that drop packets of a pod, with what each was made for"},
	{demo.Name, "decode", demo.Flow, "a line that somebody sent you, with names instead of numbers"},
}

// words returns the arguments of the command.
func (t try) words() []string {
	words := strings.Fields(t.args)
	if t.offline != "" {
		words = append([]string{"--offline", t.offline}, words...)
	}
	return words
}

// line returns the command as typed.
func (t try) line() string {
	line := "ovnctl " + strings.Join(t.words(), " ")
	if t.stdin != "" {
		line = "echo '" + strings.TrimSpace(t.stdin) + "' | " + line
	}
	return line
}

func newDemo(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "List commands to try on the built-in captures, without OVN",
		Long: `demo lists commands to try, without OVS, root or a network. The binary contains
captures of two deployments: three nodes as OVN-Kubernetes sets them up,
healthy, and the same with three faults. --offline demo:healthy and --offline
demo:broken read them; demo alone is the broken one. A file of that name is
./demo.
` + exitStatusHelp,
		Example: `  ovnctl demo
  ovnctl --offline demo trace shop/client bank/vault-2 --tcp 8080
  ovnctl --offline demo:healthy doctor`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			format, err := o.format(textFormats...)
			if err != nil {
				return err
			}
			if format == "text" {
				_, err = io.WriteString(o.stdout, newDemoDocument().text())
			} else {
				err = render.Write(o.stdout, format, newDemoDocument())
			}
			if err != nil {
				return fmt.Errorf("standard output: %w", err)
			}
			return nil
		},
	}
}

// A demoDocument lists what can be tried: kind Demo.
type demoDocument struct {
	document.Envelope
	Captures []demoCapture `json:"captures"` // built-in captures
	Commands []demoCommand `json:"commands"` // in the order of a typical investigation
}

// A demoCapture is a built-in capture.
type demoCapture struct {
	Name  string `json:"name"` // as --offline takes it
	Holds string `json:"holds"`
}

// A demoCommand is a command to try.
type demoCommand struct {
	Command string `json:"command"` // quoted for a shell
	Shows   string `json:"shows"`
}

func newDemoDocument() demoDocument {
	d := demoDocument{
		Envelope: document.New("Demo", nil, nil),
		Captures: []demoCapture{
			{Name: demo.Healthy, Holds: "three nodes as OVN-Kubernetes sets them up; nothing is wrong"},
			{Name: demo.Broken, Holds: "the same with a fault in a network policy, in a router and on a node; " + demo.Name + " alone is this one"},
		},
	}
	for _, t := range tries {
		d.Commands = append(d.Commands, demoCommand{Command: t.line(), Shows: t.shows})
	}
	return d
}

func (d demoDocument) text() string {
	var b strings.Builder
	for _, c := range d.Captures {
		fmt.Fprintf(&b, "%-13s %s\n", c.Name, c.Holds)
	}
	for _, c := range d.Commands {
		fmt.Fprintf(&b, "\n# %s\n%s\n", c.Shows, c.Command)
	}
	return b.String()
}

// completeOffline offers the built-in captures and the moments of a record; the shell completes files.
func completeOffline(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if dir, _, ok := strings.Cut(word, "@"); ok && record.Is(dir) {
		return completeMoments(cmd.Context(), dir, word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	var out []cobra.Completion
	for _, name := range demo.Names() {
		if strings.HasPrefix(name, word) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveDefault
}
