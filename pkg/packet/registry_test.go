//go:build lab

package packet

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// keywordFor is a match that makes a packet which has the field.
var keywordFor = map[Prereq]string{
	NeedsVLAN: "dl_vlan=5", NeedsMPLS: "mpls", NeedsIPv4: "ip", NeedsIPv6: "ipv6", NeedsIP: "ip", NeedsARP: "arp", NeedsNSH: "dl_type=0x894f",
	NeedsCT: "ip,ct_state=+trk+new", NeedsTCP: "tcp", NeedsUDP: "udp", NeedsSCTP: "sctp", NeedsICMPv4: "icmp", NeedsICMPv6: "icmp6",
	NeedsND: "icmp6,icmp_type=135,icmp_code=0", NeedsNDSolicit: "icmp6,icmp_type=135,icmp_code=0", NeedsNDAdvert: "icmp6,icmp_type=136,icmp_code=0",
}

// readBack gives ovs-ofctl a flow and returns how it prints it.
func readBack(match, action string) (string, error) {
	out, err := exec.Command("ovs-ofctl", "-O", "OpenFlow15", "parse-flow", strings.TrimPrefix(match+",actions="+action, ",")).CombinedOutput()
	_, printed, _ := strings.Cut(string(out), ": ADD ")
	if err == nil && printed == "" {
		err = errors.New("no flow printed")
	}
	if err != nil {
		return "", fmt.Errorf("ovs-ofctl parse-flow %s actions=%s: %w\n%s", match, action, err, out)
	}
	return strings.TrimSpace(printed), nil
}

// TestRegistry asks the installed ovs-ofctl for each field: it must know the
// name, give it the width that we give it, and print it by our Header.
func TestRegistry(t *testing.T) {
	if _, err := exec.LookPath("ovs-ofctl"); err != nil {
		t.Fatal(err)
	}
	_, err := readBack("", "push:reg16[]")
	newer := err == nil // Open vSwitch 3.7 and later
	printedOnly := map[string]bool{"tun_tos": true, "tun_ttl": true, "mpls_lse1": true, "mpls_lse2": true, "vlan_tci1": true, "dl_vlan1": true, "dl_vlan_pcp1": true}
	asked := 0
	for _, f := range allFields() {
		if f.NXM == "" && f.OXM == "" || printedOnly[f.Name] || strings.HasPrefix(f.header(), "NXOXM_ET_") && strings.Contains(f.Name, "reg") && !newer {
			continue
		}
		if f.OXM != "" && strings.HasPrefix(f.Name, "xreg") && f.place.offset >= atReg+64 && !newer {
			continue
		}
		if f.tun > 2 { // all tunnel options are alike
			continue
		}
		asked++
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			if name == "vlan_tci0" || strings.HasPrefix(name, "gtpu") { // in flows only
				continue
			}
			got, err := readBack(keywordFor[f.Needs], "push:"+name+"[]")
			if err != nil {
				t.Error(err)
			} else if want := "push:" + Whole(f).String(); !strings.HasSuffix(got, want) {
				t.Errorf("%s is printed %q, want %q", name, got, want)
			}
		}
		if _, err := readBack(keywordFor[f.Needs], fmt.Sprintf("push:%s[%d]", f.Name, f.subBits()-1)); err != nil {
			t.Error(err)
		}
		if _, err := readBack(keywordFor[f.Needs], fmt.Sprintf("push:%s[%d]", f.Name, f.subBits())); err == nil {
			t.Errorf("%s is wider than %d bits", f.Name, f.subBits())
		}
	}
	if asked < 100 {
		t.Errorf("only %d fields", asked)
	}
}
