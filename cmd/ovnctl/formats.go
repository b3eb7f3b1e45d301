package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// outputFormats returns the formats of a command, the default first; nil if it prints text only.
func outputFormats(cmd *cobra.Command) []string {
	switch cmd.Name() {
	case "topology", "show":
		return render.TopologyFormats
	case "get":
		return render.ListFormats
	case "trace":
		return []string{"tree", "json", "yaml", "md"}
	case "reach":
		return render.ReachFormats
	case "flows":
		return []string{"table", "wide", "json", "yaml"}
	case "doctor":
		return render.DoctorFormats
	case "fix", "list", "undo", "recover":
		return render.FixFormats
	case "compare":
		return render.CompareFormats
	case "capture", "demo", "explain":
		return []string{"text", "json", "yaml"}
	case "decode":
		return []string{"text", "json", "jsonl"}
	}
	return nil
}

// completeFormats offers the output formats of a command.
func completeFormats(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return slices.Clone(outputFormats(cmd)), cobra.ShellCompDirectiveNoFileComp
}

// completeWords offers fixed words.
func completeWords(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completeRisks offers the risks of repairs.
var completeRisks = completeWords(string(fixes.Low), string(fixes.Medium), string(fixes.High))
