package lab

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A northbound collects ovn-nbctl commands.
type northbound struct{ commands [][]string }

// add appends the command line built from format; see [words] for quoting.
func (nb *northbound) add(format string, args ...any) {
	nb.commands = append(nb.commands, words(fmt.Sprintf(format, args...)))
}

// row appends the creation of a row that later commands can refer to as @id.
func (nb *northbound) row(id, table string, columns ...string) {
	nb.commands = append(nb.commands, append([]string{"--id=@" + id, "create", table}, columns...))
}

// text sets a column to a string.
func text(column, value string) string { return column + "=" + strconv.Quote(value) }

// key sets one key of a map column.
func key(column, key, value string) string {
	return column + ":" + strconv.Quote(key) + "=" + strconv.Quote(value)
}

// ids sets external_ids from pairs of key and value.
func ids(pairs ...string) []string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, key("external_ids", pairs[i], pairs[i+1]))
	}
	return out
}

// vips returns the vips column of a service's load balancer, IPv4 and IPv6.
func (t Topology) vips(s Service) []string {
	var out []string
	for _, vip := range []netip.Addr{s.VIP4, s.VIP6} {
		if !vip.IsValid() {
			continue
		}
		var backends []string
		for _, name := range s.Backends {
			p, _ := t.Pod(name)
			addr := p.IPv4.Addr()
			if vip.Is6() {
				addr = p.IPv6.Addr()
			}
			backends = append(backends, netip.AddrPortFrom(addr, uint16(s.Target)).String())
		}
		out = append(out, key("vips", netip.AddrPortFrom(vip, uint16(s.Port)).String(), strings.Join(backends, ",")))
	}
	return out
}

// words splits a command line at blanks; single quotes keep a word's blanks.
func words(line string) []string {
	var out []string
	quoted := false
	for _, f := range strings.FieldsFunc(line, func(r rune) bool {
		if r == '\'' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		out = append(out, strings.ReplaceAll(f, "'", ""))
	}
	return out
}
