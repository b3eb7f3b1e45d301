// Command lab runs real OVS and OVN hosts in network namespaces; see package lab.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/machine"
	"github.com/ovnctl/ovnctl/internal/lab/replay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Run real OVS and OVN hosts in network namespaces",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newUp(), newDown(), newExec(), newProbe(), newBackup(), newList(), newReleases(), newInstall())
	err := root.ExecuteContext(ctx)
	var ended commandEnded
	switch {
	case errors.As(err, &ended):
		os.Exit(int(ended))
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// commandEnded is the exit status of the command that `lab exec` ran. It is passed on silently: the command has printed
// its own errors.
type commandEnded int

func (c commandEnded) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

func newUp() *cobra.Command {
	var topology, from string
	var inMachine bool
	o := lab.Options{Detach: true}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a lab up and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, ok := topologies()[topology]
			if !ok {
				return fmt.Errorf("topology %s: not found; one of %v", topology, names())
			}
			if inMachine {
				return upInMachine(cmd.Context(), cmd.OutOrStdout(), topology, o)
			}
			if from != "" {
				saved, release, err := replay.Load(cmd.Context(), from)
				if err != nil {
					return err
				}
				t, o.Release = saved, cmp.Or(o.Release, release)
			}
			return up(cmd.Context(), cmd.OutOrStdout(), t, o)
		},
	}
	cmd.Flags().StringVar(&topology, "topology", "ovn-kubernetes", fmt.Sprintf("one of %v", names()))
	cmd.Flags().StringVar(&from, "from", "", "bring up a saved deployment instead: a directory or archive with its databases")
	cmd.Flags().StringVar(&o.Release, "release", "", "whose packages to run: system, or the name of a Debian release (default system, or what the saved deployment ran)")
	cmd.Flags().IntVar(&o.Cluster, "cluster", 0, "members of the RAFT clusters that serve the databases (default: single servers)")
	cmd.Flags().BoolVar(&o.TLS, "tls", false, "serve the databases over TLS only")
	cmd.Flags().BoolVar(&inMachine, "machine", false, "bring it up on the kernel datapath, in a machine of its own under QEMU")
	cmd.MarkFlagsMutuallyExclusive("machine", "from")
	cmd.Flags().StringVar(&o.Dir, "dir", "", "where the lab lives; must not exist (default a new directory in /tmp)")
	return cmd
}

// topologies returns all available topologies, by name.
func topologies() map[string]lab.Topology {
	all := lab.Topologies()
	all[lab.Features().Name] = lab.Features()
	all[lab.Interconnect().Name] = lab.Interconnect()
	return all
}

func names() []string {
	var all []string
	for name := range topologies() {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func up(ctx context.Context, w io.Writer, t lab.Topology, o lab.Options) error {
	start := time.Now()
	l, err := lab.Up(ctx, t, o)
	if err != nil {
		return err
	}
	for _, s := range l.Times {
		fmt.Fprintln(w, s)
	}
	fmt.Fprintf(w, "%s is up after %.2f s in %s; take it down with: lab down %s\n", t.Name, time.Since(start).Seconds(), l.Dir, l.Dir)
	return nil
}

func newDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down DIR",
		Short: "Take a lab down",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if machine.Runs(args[0]) {
				return downWithMachine(args[0])
			}
			return lab.Down(args[0])
		},
	}
}

func newExec() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec DIR HOST COMMAND...",
		Short: "Run a command on a node or in a pod",
		Args:  cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := lab.Open(args[0])
			if err != nil {
				return err
			}
			c := s.Command(cmd.Context(), args[1], args[2:]...)
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			err = c.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.Exited() {
				return commandEnded(exit.ExitCode())
			}
			return err
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func newProbe() *cobra.Command {
	return &cobra.Command{
		Use:   "probe DIR FROM TO [PROTOCOL [PORT]]",
		Short: "Send a packet and show where it went",
		Long: "FROM is a pod, a node or \"internet\"; TO the same, a service NAMESPACE/NAME or an address;\n" +
			"PROTOCOL icmp (default), tcp, udp, icmp6, tcp6 or udp6; PORT 8080 or the service's.",
		Args: cobra.RangeArgs(3, 5),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(args, []string{"icmp", "0"}[min(len(args)-3, 2):]...)
			port, err := strconv.ParseUint(args[4], 10, 16)
			if err != nil {
				return fmt.Errorf("port %s: %w", args[4], err)
			}
			s, err := lab.Open(args[0])
			if err != nil {
				return err
			}
			start := time.Now()
			truth, err := s.Probe(cmd.Context(), args[1], args[2], args[3], int(port))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%+v after %s\n", truth, time.Since(start).Round(time.Millisecond))
			return nil
		},
	}
}

func newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR INTO",
		Short: "Write the lab's state into a plain directory, as --offline reads",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := lab.Open(args[0])
			if err != nil {
				return err
			}
			return s.Backup(cmd.Context(), args[1])
		},
	}
}

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the labs on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			labs, err := lab.List()
			for _, s := range labs {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", s.Prefix, s.Topology.Name, s.Dir)
			}
			return err
		},
	}
}

func newReleases() *cobra.Command {
	return &cobra.Command{
		Use:   "releases",
		Short: "List the releases of OVS and OVN that labs can run, with the versions installed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range lab.Releases() {
				r, err := lab.Installed(cmd.Context(), name)
				if err != nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%-10s not installed\n", name)
					continue
				}
				fmt.Fprintln(cmd.OutOrStdout(), r)
			}
			return nil
		},
	}
}

func newInstall() *cobra.Command {
	return &cobra.Command{
		Use:   "install RELEASE...",
		Short: "Install releases into private roots, if they are not there yet",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				start := time.Now()
				r, err := lab.Install(cmd.Context(), name)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%v after %.1f s\n", r, time.Since(start).Seconds())
			}
			return nil
		},
	}
}
