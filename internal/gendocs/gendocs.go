// Package gendocs writes what is installed beside the binary, generated from the commands: man pages and shell
// completions.
package gendocs

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Write makes DIR/man with a section 8 page for root and each command below it, and DIR/completions for bash, zsh and
// fish. Output is reproducible.
func Write(root *cobra.Command, dir string) error {
	man := filepath.Join(dir, "man")
	completions := filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := writePages(root, man); err != nil {
		return err
	}
	name := root.Name()
	if err := root.GenBashCompletionFileV2(filepath.Join(completions, name+".bash"), true); err != nil {
		return err
	}
	if err := root.GenZshCompletionFile(filepath.Join(completions, "_"+name)); err != nil {
		return err
	}
	return root.GenFishCompletionFile(filepath.Join(completions, name+".fish"), true)
}

func writePages(cmd *cobra.Command, dir string) error {
	file := filepath.Join(dir, pageName(cmd)+".8")
	if err := os.WriteFile(file, []byte(page(cmd)), 0o644); err != nil {
		return err
	}
	for _, c := range children(cmd) {
		if err := writePages(c, dir); err != nil {
			return err
		}
	}
	return nil
}

// pageName returns "ovnctl-topology-show" for "ovnctl topology show".
func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

func children(cmd *cobra.Command) []*cobra.Command {
	var visible []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			visible = append(visible, c)
		}
	}
	return visible
}
