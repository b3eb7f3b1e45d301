//go:build gendocs

package main

import (
	"fmt"
	"os"

	"github.com/ovnctl/ovnctl/internal/gendocs"
)

// With the build tag gendocs, the program only writes its man pages and completions to the given directory, so the
// installed program has no generator.
func init() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs DIR")
		os.Exit(exitUsage)
	}
	if err := gendocs.Write(newRoot(&options{}, ""), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnknown)
	}
	os.Exit(exitOK)
}
