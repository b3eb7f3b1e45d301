package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// released is the version, if it tells what the program was built from; else empty.
func released() string {
	if version == "devel" || strings.HasSuffix(version, "-dirty") || strings.Contains(version, "SNAPSHOT") {
		return ""
	}
	return version
}

// newAnswer is what ovnctl on another node runs here instead of the daemons' tools, if it is of the same version; not for people.
func newAnswer(o *options) *cobra.Command {
	var seconds int
	var at node.LocalConfig
	cmd := &cobra.Command{
		Use: "answer VERSION REQUESTS BOUNDARY", Hidden: true, Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != released() {
				return fmt.Errorf("this is ovnctl %s, not %s", version, args[0])
			}
			at.Timeout = time.Duration(seconds) * time.Second
			return node.Answer(cmd.Context(), at, args[1], args[2], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&seconds, "each", 5, "`seconds` for one reply")
	cmd.Flags().StringVar(&at.OVSRunDir, "ovs-rundir", "", "`directory` of Open vSwitch's sockets")
	cmd.Flags().StringVar(&at.OVNRunDir, "ovn-rundir", "", "`directory` of OVN's sockets")
	return cmd
}
