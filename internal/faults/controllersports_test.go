//go:build lab

package faults

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// controllers begins the keys of a state's rows that ovn-controller makes and takes away: its tunnels and patch ports. It
// makes them again as other rows whenever what they follow from comes back.
const controllers = "ovn-controller's "

var (
	controllersPort = regexp.MustCompile(`external_ids=\["map",\[\["ovn-(?:chassis-id|localnet-port|l3gateway-port)",`)
	nameOfRow       = regexp.MustCompile(` name="([^"]*)"`)
	interfacesOf    = regexp.MustCompile(` interfaces=(\["uuid","[^"]*"\])`)
	portsOf         = regexp.MustCompile(` ports=\["set",\[(.*?\])\]\]`)
)

// nameControllersPorts puts names in place of the UUIDs of the ports that ovn-controller made, and of their interfaces.
func nameControllersPorts(state map[string]string) {
	names := map[string]string{} // by UUID, both as they are written
	for key, row := range state {
		uuid, isPort := strings.CutPrefix(key, "Open_vSwitch Port ")
		name, of := nameOfRow.FindStringSubmatch(row), interfacesOf.FindStringSubmatch(row)
		if isPort && name != nil && of != nil && controllersPort.MatchString(row) {
			names[uuid], names[of[1]] = `["uuid","port `+name[1]+`"]`, `["uuid","interface `+name[1]+`"]`
		}
	}
	var pairs []string
	for uuid, name := range names {
		pairs = append(pairs, uuid, name)
	}
	named := strings.NewReplacer(pairs...)
	for _, key := range slices.Collect(maps.Keys(state)) {
		if !strings.HasPrefix(key, "Open_vSwitch ") {
			continue
		}
		row := portsOf.ReplaceAllStringFunc(named.Replace(state[key]), sortedPorts)
		delete(state, key)
		if uuid := key[strings.LastIndex(key, " ")+1:]; names[uuid] != "" {
			key = controllers + names[uuid]
		}
		state[key] = row
	}
}

// sortedPorts orders the ports of a bridge, which ovsdb-server orders by UUID.
func sortedPorts(column string) string {
	ports := strings.SplitAfter(portsOf.FindStringSubmatch(column)[1], "],")
	ports[len(ports)-1] += ","
	slices.Sort(ports)
	return ` ports=["set",[` + strings.TrimSuffix(strings.Join(ports, ""), ",") + "]]"
}
