package main

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A namespace is where kubectl's -n looks for pods and services that are named without one.
type namespace string

func (n *namespace) addFlag(f *pflag.FlagSet) {
	f.StringVarP((*string)(n), "namespace", "n", "", "pods and services named without a `namespace` are in this one")
}

// objects returns names with the namespace; where none is given, all that is in it.
func (n namespace) objects(texts []string) []string {
	if n != "" && len(texts) == 0 {
		return []string{"ns:" + string(n)}
	}
	return n.names(texts)
}

// names returns names with the namespace, where they lack one.
func (n namespace) names(texts []string) []string {
	out := slices.Clone(texts)
	for i, text := range out {
		out[i] = n.name(text)
	}
	return out
}

func (n namespace) name(text string) string {
	if n == "" || text == "" || text == topology.All || isAddress(text) {
		return text
	}
	for _, kind := range []string{"pod", "pods", "po", "svc", "service", "services"} {
		for _, mark := range []string{":", "/"} {
			if rest, ok := strings.CutPrefix(text, kind+mark); ok && !strings.Contains(rest, "/") {
				return kind + ":" + string(n) + "/" + rest
			}
		}
	}
	name, port, more := strings.Cut(text, ":")
	if _, err := strconv.ParseUint(port, 10, 16); strings.Contains(name, "/") || more && err != nil { // has a namespace, or is of another kind
		return text
	}
	return string(n) + "/" + text
}

// isAddress reports whether a text is an IP or MAC address, with or without a port.
func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	_, err2 := netip.ParseAddrPort(text)
	_, err3 := net.ParseMAC(text)
	return err == nil || err2 == nil || err3 == nil
}
