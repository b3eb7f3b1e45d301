package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Page explains a stage, a table of ovn-controller or a register in a page of text: Page("ls_in_acl"),
// Page("LOCAL_OUTPUT"), Page("reg14"). about is "stage", "table" or "register"; both are empty for unknown names.
func Page(name string) (text, about string) {
	lower := strings.ToLower(name)
	if about, ok := registers.Get()[lower]; ok {
		return registerPage(lower, about), "register"
	}
	if table := release.PhysicalTable(strings.ToUpper(name)); table.Explain() != "" {
		return tablePage(table), "table"
	}
	if words := stageWords.Get()[lower]; words != "" {
		return stagesPage(lower, words), "stage"
	}
	if _, _, ok := stageOf(lower); ok && explainStage(lower) != lower {
		return stagePage(lower), "stage"
	}
	return "", ""
}

// Topics returns the names that Page knows, sorted. Stages of either pipeline and any release are listed without
// direction: ls_acl for ls_in_acl, ls_out_acl and ls_in_acl_eval.
func Topics() []string {
	names := slices.Concat(slices.Collect(maps.Keys(registers.Get())), slices.Collect(maps.Keys(stageWords.Get())))
	for table := range release.PhysicalWords.Get() {
		names = append(names, string(table))
	}
	slices.Sort(names)
	return names
}

// Stages returns names of stages, of either pipeline and any release, and of the tables that ovn-controller fills itself, sorted.
func Stages() []string {
	var names []string
	for name := range stageWords.Get() {
		of, rest, _ := strings.Cut(name, "_")
		names = append(names, of+"_in_"+rest, of+"_out_"+rest)
	}
	for table := range release.PhysicalWords.Get() {
		names = append(names, strings.ToLower(string(table)))
	}
	slices.Sort(names)
	return names
}

// stagesPage explains the stages of a name in either pipeline.
func stagesPage(name, words string) string {
	kind, rest, _ := strings.Cut(name, "_")
	in, out := kind+"_in_"+rest, kind+"_out_"+rest
	return fmt.Sprintf("# %s: %s\n\nStages that begin with %s or %s, as the release has them. Each has a page: ovnctl explain %[3]s\n",
		name, strings.Replace(words, "*", "ingress and egress", 1), in, out)
}

func stagePage(stage string) string {
	kind, pipeline, _ := stageOf(stage)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", stage, explainStage(stage))
	fmt.Fprintf(&b, "A stage in the %s pipeline of every logical %s.\n", pipeline, kind)
	var made []string
	for _, t := range tablesOf(stage) {
		made = append(made, strings.ReplaceAll(t.name(), "_", " "))
	}
	if len(made) > 0 {
		fmt.Fprintf(&b, "\n## What its flows are made for\n\nFor the pipeline itself, or for a row of the Northbound: %s.\n", strings.Join(made, ", "))
	}
	fmt.Fprintf(&b, "\n## Its number\n\nIt is Logical_Flow.table_id and changes from release to release. Add it to")
	if pipeline == Ingress {
		fmt.Fprintf(&b, " %d to get the OpenFlow table.\n", release.IngressBase)
	} else {
		fmt.Fprint(&b, " the first OpenFlow table of the pipeline:\n")
		numbers(&b, func(l *release.Layout) (int, bool) { return l.Egress, true })
	}
	fmt.Fprintf(&b, "\n## See it\n\n    ovnctl flows --stage %s\n    ovn-sbctl find Logical_Flow external_ids:stage-name=%[1]s\n", stage)
	return b.String()
}

func tablePage(table release.PhysicalTable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", table, table.Explain())
	fmt.Fprint(&b, "An OpenFlow table of the integration bridge that ovn-controller fills itself. It is not a stage of a logical pipeline.\n")
	fmt.Fprint(&b, "\n## Its number\n\n")
	numbers(&b, func(l *release.Layout) (int, bool) {
		of, ok := l.All()[table]
		return of, ok
	})
	fmt.Fprintf(&b, "\n## See it\n\n    ovnctl flows --stage %s\n", strings.ToLower(string(table)))
	return b.String()
}

// numbers writes a table's number in each release.
func numbers(b *strings.Builder, of func(*release.Layout) (int, bool)) {
	spans := map[int][]string{}
	for i := range release.Layouts {
		l := &release.Layouts[i]
		if n, ok := of(l); ok {
			spans[n] = append(spans[n], strings.Fields(l.Releases)...)
		}
	}
	switch len(spans) {
	case 0:
		fmt.Fprint(b, "No release up to 26.03 has it.\n")
		return
	case 1:
		for n := range spans {
			fmt.Fprintf(b, "It is %d in every release up to 26.03 that has it.\n", n)
		}
		return
	}
	fmt.Fprint(b, "\nBy release of OVN (+: and its later patches):\n\n")
	for _, n := range slices.Sorted(maps.Keys(spans)) {
		for i, some := range slices.Collect(slices.Chunk(spans[n], 7)) { // in lines of 80 columns
			number := fmt.Sprintf("%3d", n)
			if i > 0 {
				number = "   "
			}
			fmt.Fprintf(b, "    %s  %s\n", number, strings.Join(some, ", "))
		}
	}
}

// A register is what OVN stores in a register field of OpenFlow.
type register struct {
	title string
	text  string
}

var registers = lazy.Value[map[string]register]{Make: func() map[string]register {
	return map[string]register{
		"metadata": {"the logical switch or router that the packet is in", `Datapath_Binding.tunnel_key of the Southbound, and the VNI of Geneve.`},
		"reg10":    {"OVN's flags, one bit each", `ovn-northd sets them by name: flags.loopback = 1.`},
		"reg11":    {"conntrack zone for DNAT of the router", `ovn-controller numbers the zones of its own chassis.`},
		"reg12":    {"conntrack zone for SNAT of the router", `ovn-controller numbers the zones of its own chassis.`},
		"reg13": {"conntrack zone of the logical port", `ovn-controller numbers the zones of its own chassis. Since 24.03 the upper half holds
the tunnel endpoint of this chassis that the port uses (encap).`},
		"reg14": {"logical port that the packet came in by", `Port_Binding.tunnel_key of the Southbound, in the datapath of metadata.
OVN calls it inport.`},
		"reg15": {"logical port that the packet goes out by", `Port_Binding.tunnel_key of the Southbound, in the datapath of metadata;
from 32768 on Multicast_Group.tunnel_key. OVN calls it outport.`},
		"tun_id": {"VNI of a tunnel: the logical switch or router", `With Geneve it is metadata. With VXLAN the lower 12 bits of the VNI are the datapath, the
upper 12 the port that the packet goes out by.`},
		"tun_metadata0": {"OVN's option of Geneve: logical ports", `Class 0x102, type 0x80: 15 bits for the logical port that the packet came in by, 16 bits
for the port or multicast group that it goes out by. 0x10003 is from port 1 to port 3, in
the datapath of the VNI.`},
		"ct_mark":  {"what OVN remembers of a connection", `Up to 22.03 blocked, natted and the next two are in ct_label.`},
		"ct_label": {"what more OVN remembers of a connection", `ecmp_reply_eth is a MAC address, acl_label and acl_id the numbers of an ACL.`},
		"ct_zone": {"the conntrack zone that a connection is in", `The same connection may be in several, with a state in each. ovn-controller gives
zones their numbers, each chassis its own: ovn-appctl -t ovn-controller ct-zone-list.`},
	}
}}

func registerPage(name string, r register) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s\n", name, r.title, r.text)
	switch name {
	case "reg10":
		fmt.Fprint(&b, "\n## Its bits\n\n")
		for _, f := range release.Flags {
			fmt.Fprintf(&b, "    %5d  %s%s\n", f.Bit, f.Name, f.Releases())
		}
		fmt.Fprintf(&b, "    %d-31  network_id\n", release.NetworkIDShift)
	case "ct_mark":
		bitsOf(&b, release.CtMarkFields)
	case "ct_label":
		bitsOf(&b, release.CtLabelFields)
	}
	fmt.Fprint(&b, "\n## See it\n\n    ovs-ofctl dump-flows br-int | ovnctl decode\n")
	return b.String()
}

func bitsOf(b *strings.Builder, fields []release.CtField) {
	fmt.Fprint(b, "\n## Its bits\n\n")
	for _, f := range fields {
		bits, in := fmt.Sprint(f.Lsb), ""
		if f.Len > 1 {
			bits = fmt.Sprintf("%d-%d", f.Lsb, f.Lsb+f.Len-1)
		}
		if f.Since != (release.Version{}) {
			in += " (from " + f.Since.String() + " on)"
		}
		if f.Until != (release.Version{}) {
			in += " (before " + f.Until.String() + ")"
		}
		fmt.Fprintf(b, "    %6s  %s%s\n", bits, f.Name, in)
	}
}
