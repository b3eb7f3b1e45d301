package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// A versionDocument is what version prints: kind Versions.
type versionDocument struct {
	document.Envelope
	Client string                 `json:"client"`
	Zones  []cluster.ZoneVersions `json:"zones"`
	Nodes  []cluster.NodeVersions `json:"nodes"`
}

// versionFormats are those of version, the default first.
var versionFormats = []string{"table", "json", "yaml"}

type versionOptions struct {
	*options
	cluster bool
}

func newVersion(root *options) *cobra.Command {
	o := &versionOptions{options: root}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and with --cluster those of a deployment",
		Long: `version prints the version of ovnctl. With --cluster it also shows what it
finds: the databases with the versions of their schemas, and the daemons on each
node, with where and how it reads them.
` + exitStatusHelp,
		Example: `  ovnctl version --cluster --via ssh
  ovnctl version --cluster --offline demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.Root().Name())
		},
	}
	cmd.Flags().BoolVar(&o.cluster, "cluster", false, "also of databases and of the daemons on all nodes in reach")
	return cmd
}

func (o *versionOptions) run(ctx context.Context, program string) (err error) {
	format, err := o.format(versionFormats...)
	if err != nil {
		return err
	}
	doc := versionDocument{Envelope: document.New("Versions", nil, nil), Client: version, Zones: []cluster.ZoneVersions{}, Nodes: []cluster.NodeVersions{}}
	failed := false
	if o.cluster {
		stop := o.patience(ctx)
		var c *cluster.Cluster
		if c, err = o.openBroken(ctx); err != nil {
			stop()
			return err
		}
		defer o.close(c, &err)
		doc.Zones, doc.Nodes = c.ZoneVersions(), c.NodeVersions(ctx)
		stop()
		o.warn(c)
		doc.Envelope = document.New("Versions", c.Source(), slices.Concat(problemTexts(c), c.Notes))
		for _, note := range c.Notes {
			fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.Clean(note))
		}
		failed = len(c.Problems) > 0
	}
	if o.machine() {
		err = render.Write(o.stdout, format, doc)
	} else {
		err = o.print(program, doc)
	}
	switch {
	case err != nil:
		return fmt.Errorf("standard output: %w", err)
	case failed:
		return verdict(exitUnknown)
	}
	return nil
}

func (o *versionOptions) print(program string, doc versionDocument) error {
	if _, err := fmt.Fprintf(o.stdout, "%s version %s\n", program, doc.Client); err != nil || !o.cluster {
		return err
	}
	zones := &render.Table{Header: []string{"ZONE", "NORTHBOUND", "SOUTHBOUND", "FROM"}}
	for _, z := range doc.Zones {
		zones.Row(cell(z.Zone), cell(z.Northbound), cell(z.Southbound), cell(strings.Join(slices.DeleteFunc([]string{z.NB, z.SB}, func(s string) bool { return s == "" }), " ")))
	}
	nodes := &render.Table{Header: []string{"NODE", "OVS-VSWITCHD", "OVSDB-SERVER", "SCHEMA", "OVN-CONTROLLER", "OTHERS", "FROM"}}
	for _, n := range doc.Nodes {
		row := []render.Line{render.Text(n.Node, render.Name)}
		for _, name := range []string{"ovs-vswitchd", "ovsdb-server"} {
			row = append(row, cell(daemonText(n.Daemons, name)))
		}
		nodes.Row(append(row, cell(n.Schema), cell(daemonText(n.Daemons, "ovn-controller")), cell(othersText(n.Daemons)), cell(n.From))...)
	}
	if _, err := fmt.Fprintln(o.stdout); err != nil {
		return err
	}
	return render.WriteTables(o.stdout, o.style(o.stdout), true, zones, nodes)
}

// cell is a cell of a table, with a dash for what is not known.
func cell(text string) render.Line {
	if text == "" {
		text = "-"
	}
	return render.Text(text)
}

// daemonText is the version of the daemons with a name, or why there is none.
func daemonText(daemons []cluster.DaemonVersion, name string) string {
	var words []string
	for _, d := range daemons {
		if d.Name != name {
			continue
		}
		word := d.Version
		if d.State != node.Answers {
			word = string(d.State)
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// othersText lists the daemons that have no column of their own.
func othersText(daemons []cluster.DaemonVersion) string {
	var words []string
	for _, d := range daemons {
		if slices.Contains([]string{"ovs-vswitchd", "ovsdb-server", "ovn-controller"}, d.Name) {
			continue
		}
		if word := d.Name + " " + daemonText(daemons, d.Name); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}
