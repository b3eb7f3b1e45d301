package main

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// listenAddress is a flag that takes HOST:PORT; an empty host means all addresses.
type listenAddress string

func (a *listenAddress) String() string { return string(*a) }
func (a *listenAddress) Type() string   { return "address" }

func (a *listenAddress) Set(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("expected HOST:PORT, such as 127.0.0.1:9476, or :9476 for all addresses")
	}
	*a = listenAddress(text)
	return nil
}

// take returns the arguments without an address that belongs to --serve: as it may stand alone, pflag reads "--serve :9476" as
// --serve and an argument.
func (a *listenAddress) take(cmd *cobra.Command, args []string) []string {
	if !cmd.Flags().Changed("serve") {
		return args
	}
	for i, arg := range args {
		if a.Set(arg) == nil {
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

// checkServe validates the flags about metrics, and sets the pace of looks.
func (o *doctorOptions) checkServe() error {
	switch {
	case o.serve == "" && o.webConfig != "":
		return errors.New("--web.config.file goes with --serve")
	case o.serve == "" && o.watch > 0 && o.send:
		return errors.New("--watch and --send exclude each other: give one of the two, or --serve with both")
	case o.serve != "" && o.offline != "":
		return errors.New("--serve needs a live deployment: a capture does not change")
	}
	if o.serve != "" && o.watch == 0 {
		o.watch = watchInterval(30 * time.Second)
	}
	return nil
}
