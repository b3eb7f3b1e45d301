package ovnexpr

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// The options that actions take by name: for DHCP, router advertisements and events. ovn-controller refuses an action
// with an option that it does not know, or with a value of another kind.

// An optionSet is the options of one action, by what their values are.
type optionSet struct {
	what    string   // as ovn-controller calls them
	quoted  []string // text in quotes
	numbers []string
	either  string // the releases differ
}

var (
	dhcpOptions = optionSet{
		"DHCPv4 option",
		[]string{"bootfile_name", "bootfile_name_alt", "domain_name", "domain_search_list", "hostname", "path_prefix", "wpad"},
		[]string{
			"T1", "T2", "arp_cache_timeout", "broadcast_address", "classless_static_route", "default_ttl", "dns_server", "ethernet_encap",
			"ip_forward_enable", "lease_time", "log_server", "lpr_server", "ms_classless_static_route", "mtu", "netbios_name_server",
			"netbios_node_type", "netmask", "next_server", "nis_server", "ntp_server", "offerip", "policy_filter", "router",
			"router_discovery", "router_solicitation", "server_id", "swap_server", "tcp_keepalive_interval", "tcp_ttl",
			"tftp_server_address",
		},
		"tftp_server",
	}
	dhcpv6Options = optionSet{"DHCPv6 option", []string{"bootfile_name", "bootfile_name_alt", "domain_search"}, []string{"dns_server", "ia_addr", "server_id"}, "fqdn"}
	raOptions     = optionSet{"IPv6 ND RA option", []string{"addr_mode", "router_preference", "dnssl", "route_info"}, []string{"mtu", "prefix", "slla", "rdnss"}, ""}
	eventOptions  = optionSet{emptyBackends + " option", []string{"vip", "protocol", "load_balancer"}, nil, ""}
)

// emptyBackends is the only event.
const emptyBackends = "empty_lb_backends"

// options checks the names and kinds of options. Text with a template variable is checked when it is expanded.
func (c *checker) options(s optionSet, list []Parameter) {
	for _, p := range list {
		quoted, number, either := slices.Contains(s.quoted, p.Name), slices.Contains(s.numbers, p.Name), p.Name != "" && p.Name == s.either
		if !quoted && !number && !either {
			at := Span{max(0, p.Values.Start-len(p.Name)), p.Values.End}
			panic(&SyntaxError{Text: c.text, Span: at, unknown: true, Msg: fmt.Sprintf("Syntax error at `%s' expecting %s name.", p.Name, s.what)})
		}
		if len(p.Values.Items) == 0 {
			continue
		}
		switch first := p.Values.Items[0].Kind; {
		case first == Template:
		case quoted && first != String:
			c.fail(p.Values.Span, "%s %s requires string value.", s.what, p.Name)
		case number && first != Integer:
			c.fail(p.Values.Span, "%s %s requires numeric value.", s.what, p.Name)
		}
	}
}

// option returns the values of an option, if it is given.
func option(list []Parameter, name string) (Values, bool) {
	for _, p := range list {
		if p.Name == name {
			return p.Values, true
		}
	}
	return Values{}, false
}

func (c *checker) putOptions(a *PutOptions) {
	switch a.Name {
	case "put_dhcp_opts":
		c.options(dhcpOptions, a.Options)
		if _, ok := option(a.Options, "offerip"); !ok {
			c.fail(a.Span, "put_dhcp_opts requires offerip to be specified.")
		}
	case "put_dhcpv6_opts":
		c.options(dhcpv6Options, a.Options)
	case "put_nd_ra_opts":
		c.routerAdvertisement(a)
	}
}

var (
	addressModes = []string{"slaac", "dhcpv6_stateful", "dhcpv6_stateless"}
	preferences  = []string{"HIGH", "MEDIUM", "LOW"}
)

// routerAdvertisement checks the values of put_nd_ra_opts.
func (c *checker) routerAdvertisement(a *PutOptions) {
	c.options(raOptions, a.Options)
	stateful := false
	for _, p := range a.Options {
		ok := len(p.Values.Items) == 1 && !p.Values.Braces
		if !ok && p.Name != "rdnss" {
			c.fail(p.Values.Span, "Invalid value for \"%s\" option", p.Name)
		}
		v := p.Values.Items[0]
		switch p.Name {
		case "addr_mode":
			ok, stateful = slices.Contains(addressModes, v.Text), v.Text == "dhcpv6_stateful"
		case "router_preference":
			ok = slices.Contains(preferences, v.Text)
		case "prefix":
			ok = v.Format == IPv6 && v.Masked
		case "slla":
			ok = v.Format == Ethernet
		case "rdnss":
			ok = v.Format == IPv6 && !v.Masked
		case "mtu":
			ok = v.Format == Decimal
		}
		if !ok && v.Kind != Template {
			c.fail(p.Values.Span, "Invalid value for \"%s\" option", p.Name)
		}
	}
	if _, ok := option(a.Options, "slla"); !ok {
		c.fail(a.Span, "slla option not present")
	}
	if _, ok := option(a.Options, "prefix"); !ok && !stateful {
		c.fail(a.Span, "prefix option needs to be set when address mode is slaac/dhcpv6_stateless.")
	}
}

var uuid = pattern.New(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// event checks the values of trigger_event.
func (c *checker) event(a *TriggerEvent) {
	if a.Event != emptyBackends {
		panic(&SyntaxError{Text: c.text, Span: a.Span, unknown: true, Msg: fmt.Sprintf("Syntax error at `\"%s\"' Unknown event '-1'.", a.Event)})
	}
	c.options(eventOptions, a.Options)
	for _, p := range a.Options {
		if len(p.Values.Items) != 1 {
			c.fail(p.Values.Span, "Invalid value for \"%s\" option", p.Name)
		}
		text := p.Values.Items[0].Text
		switch {
		case p.Values.Items[0].Kind == Template:
		case p.Name == "vip" && !isVIP(text):
			c.fail(p.Values.Span, "Invalid load balancer VIP '%s'", text)
		case p.Name == "protocol" && text != "tcp" && text != "udp" && text != "sctp":
			c.fail(p.Values.Span, "Load balancer protocol '%s' is not 'tcp', 'udp', or 'sctp'", text)
		case p.Name == "load_balancer" && !uuid.Get().MatchString(text):
			c.fail(p.Values.Span, "Load balancer '%s' is not a UUID", text)
		}
	}
}

// isVIP reports whether a text is an address, with a port or without.
func isVIP(text string) bool {
	if _, err := netip.ParseAddrPort(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil || len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']' && isVIP(text[1:len(text)-1])
}
