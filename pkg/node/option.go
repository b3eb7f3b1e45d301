package node

import "strings"

// Option finds an option's value in a daemon's command line, in any form that getopt_long(3) accepts: "-p FILE",
// "-pFILE", "--private-key FILE", "--private-key=FILE". It is empty if not found. short is empty for an option
// without a short form.
func Option(args []string, short, long string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, long+"="); ok {
			return v
		}
		if (a == long || short != "" && a == short) && i+1 < len(args) {
			return args[i+1]
		}
		if v, ok := strings.CutPrefix(a, short); ok && short != "" && v != "" && !strings.HasPrefix(a, "--") {
			return v
		}
	}
	return ""
}
