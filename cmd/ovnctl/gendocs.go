//go:build gendocs

package main

import (
	"fmt"
	"os"

	"github.com/ovnctl/ovnctl/internal/gendocs"
)

// Built with the tag gendocs, the program writes its man pages and completions to
// the directory that it is given, instead of what it does otherwise: the generator
// is no part of what people install.
func init() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs DIR")
		os.Exit(exitUsage)
	}
	if err := gendocs.Write(newRoot(&options{}), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnknown)
	}
	os.Exit(exitOK)
}
