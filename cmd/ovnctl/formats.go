package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// Formats of commands whose texts are not of package render, the default first.
var (
	traceFormats  = []string{"tree", "json", "yaml", "md", "svg", "html"}
	listedFormats = []string{"tree", "json", "yaml", "md"} // of a microflow or a bridge's tables, and of two traces
	flowsFormats  = []string{"table", "wide", "json", "yaml"}
	textFormats   = []string{"text", "json", "yaml"}
	decodeFormats = []string{"text", "json", "jsonl"}
	watchFormats  = []string{"text", "json"}
)

// outputFormats returns the formats of a command, the default first; nil if it prints text only.
func outputFormats(cmd *cobra.Command) []string {
	switch cmd.Name() {
	case "topology", "show":
		return render.TopologyFormats
	case "version":
		return versionFormats
	case "get":
		return render.ListFormats
	case "trace":
		return traceFormats
	case "reach":
		return render.ReachFormats
	case "flows":
		return flowsFormats
	case "doctor":
		return render.DoctorFormats
	case "fix", "list", "undo", "recover":
		return render.FixFormats
	case "compare":
		return render.CompareFormats
	case "capture", "demo", "explain":
		return textFormats
	case "report":
		return []string{"html"}
	case "decode":
		return decodeFormats
	case "watch":
		if cmd.Parent().Name() == "fix" {
			return nil // the watchdog
		}
		return watchFormats
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
