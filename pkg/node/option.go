package node

import "strings"

// Option finds the value of an option in a daemon's command line, in any of the
// forms that getopt_long(3) takes: "-p FILE", "-pFILE", "--private-key FILE",
// "--private-key=FILE". Empty: it is not there. An option without a short form has
// an empty one.
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
