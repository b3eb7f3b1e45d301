package checks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks/host"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// tunnelBridge is a node whose bridge of a datapath has a geneve tunnel that could not be opened.
func tunnelBridge(datapath, problem string) map[string]string {
	return map[string]string{
		"Open_vSwitch": `"headings":["_uuid","bridges","external_ids","other_config"],"data":[[["uuid","11111111-1111-1111-1111-111111111111"],["uuid","22222222-2222-2222-2222-222222222222"],["map",[["ovn-remote","tcp:10.0.0.1:6642"]]],["map",[]]]]`,
		"Bridge":       `"headings":["_uuid","name","ports","datapath_type"],"data":[[["uuid","22222222-2222-2222-2222-222222222222"],"br-int",["uuid","33333333-3333-3333-3333-333333333333"],"` + datapath + `"]]`,
		"Port":         `"headings":["_uuid","name","interfaces"],"data":[[["uuid","33333333-3333-3333-3333-333333333333"],"ovn-a-0",["uuid","44444444-4444-4444-4444-444444444444"]]]`,
		"Interface":    `"headings":["_uuid","name","type","error"],"data":[[["uuid","44444444-4444-4444-4444-444444444444"],"ovn-a-0","geneve",["set",[` + problem + `]]]]`,
	}
}

const noGeneve = `"could not add network device ovn-a-0 to ofproto (Address family not supported by protocol)"`

func TestKernelModuleMissing(t *testing.T) {
	const dep = "kernel/net/openvswitch/openvswitch.ko.zst: kernel/lib/libcrc32c.ko.zst\nkernel/net/openvswitch/vport-geneve.ko.zst: kernel/drivers/net/geneve.ko.zst\n"
	files := func(modules, builtin, dep, cmdline string) map[string]string {
		return map[string]string{
			"files/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n", "files/proc/modules": modules, "files/proc/cmdline": cmdline + "\n",
			"files/lib/modules/6.1.0-18-amd64/modules.builtin": builtin, "files/lib/modules/6.1.0-18-amd64/modules.dep": dep,
			"files/proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n",
		}
	}
	const openvswitch, openvswitchFile = "openvswitch 200704 12 - Live 0x0\n", "kernel/net/openvswitch/openvswitch.ko.zst:\n"
	const loaded = "openvswitch 200704 12 vport_geneve, Live 0x0000000000000000\n"
	const geneve = "vport_geneve 12288 1 - Live 0x0000000000000000\n"
	tests := []struct {
		name, datapath, problem string
		files                   map[string]string
		want                    string // the reason and a part of the title; "" for no finding
		repair                  bool
	}{
		{"not loaded", "", noGeneve, files(loaded, "", dep, ""), "not-loaded: the kernel of n1 has not loaded vport_geneve", true},
		{"none loaded", "system", noGeneve, files("", "", dep, ""), "not-loaded: the kernel of n1 has not loaded openvswitch, vport_geneve", true},
		{"not installed", "", noGeneve, files(loaded, "", "kernel/net/openvswitch/openvswitch.ko:\n", ""), "not-loaded: the kernel of n1 has not loaded vport_geneve", false},
		{"IPv6 off", "", noGeneve, files(loaded+geneve, "", dep, "quiet ipv6.disable=1"), "ipv6-off: IPv6 is off", false},
		{"the kernel's own link", "", `"could not add network device tun to ofproto (File exists)"`, files(openvswitch+"geneve 45056 0 - Live 0x0\n", "", openvswitchFile, ""), "", false},
		{"the kernel's own link, not loaded", "", noGeneve, files(openvswitch, "", openvswitchFile+"kernel/drivers/net/geneve.ko.zst:\n", ""), "not-loaded: the kernel of n1 has not loaded geneve", true},
		{"healthy", "", "", files(loaded+geneve, "", dep, ""), "", false},
		{"built in, healthy", "", "", files("", "kernel/net/openvswitch/openvswitch.ko\nkernel/net/openvswitch/vport-geneve.ko\n", "", ""), "", false},
		{"not loaded, and no error", "", "", files("", "", dep, ""), "", false},
		{"userspace", "netdev", noGeneve, files("", "", dep, ""), "", false},
		{"another error", "", `"could not open network device eth9 (No such device)"`, files(loaded+geneve, "", dep, ""), "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := []doctor.Finding{}
			for _, f := range only(saved(t, tunnelBridge(test.datapath, test.problem), test.files), host.KernelModuleMissing) {
				if f.Result.Fault() {
					got = append(got, f)
				}
			}
			switch {
			case test.want == "" && len(got) == 0:
			case test.want == "" || len(got) != 1 || !strings.Contains(got[0].Reason+": "+got[0].Title, test.want):
				t.Errorf("found %v, want %q", got, test.want)
			case (got[0].Fix != nil) != test.repair:
				t.Errorf("proposes %v", got[0].Fix)
			}
		})
	}
}

// A node of rpm packages, Rocky for instance: what counts is the unit, then OPTIONS.
func TestTransientDefaultOfRPM(t *testing.T) {
	uplink := map[string]string{
		"Open_vSwitch": plainSystem,
		"Port":         `"headings":["_uuid","name","interfaces","other_config"],"data":[[["uuid","33333333-3333-3333-3333-333333333333"],"eth0",["set",[]],["map",[["transient","true"]]]]]`,
	}
	machine := func(files ...string) *snapshot.Deployment {
		all := map[string]string{
			"files/etc/os-release":     "ID=\"almalinux\"\nID_LIKE=\"rhel centos fedora\"\nPRETTY_NAME=\"AlmaLinux 9\"\n",
			"processes.json":           "[]",
			"absent/files/etc/nothing": "",

			"units/openvswitch.service.json": `{"name":"openvswitch.service","load":"loaded","active":"active","sub":"exited","file":"enabled"}`,
		}
		for _, path := range []string{"etc/sysconfig/openvswitch", "etc/openvswitch/default.conf", "etc/default/openvswitch", "etc/default/openvswitch-switch"} {
			all["absent/files/"+path] = ""
		}
		for i := 0; i < len(files); i += 2 {
			delete(all, "absent/"+files[i])
			all[files[i]] = files[i+1]
		}
		return saved(t, uplink, all)
	}
	unit := func(load, file string) string {
		return fmt.Sprintf(`{"name":"ovs-delete-transient-ports.service","load":%q,"active":"inactive","sub":"dead","file":%q}`, load, file)
	}
	const at = "units/ovs-delete-transient-ports.service.json"
	missing := "error: file /etc/sysconfig/openvswitch on n1"
	wantFaults(t, machine(at, unit("loaded", "static")), host.TransientDefaultMissing)
	wantFaults(t, machine(at, unit("masked", "masked")), host.TransientDefaultMissing, missing)
	wantFaults(t, machine(at, unit("not-found", "")), host.TransientDefaultMissing, missing)
	wantFaults(t, machine(at, unit("not-found", ""), "files/etc/sysconfig/openvswitch", "OPTIONS=\"--delete-transient-ports\"\n"), host.TransientDefaultMissing)
	wantFaults(t, machine(at, unit("loaded", "static"), "files/etc/default/openvswitch", "OPTIONS=--delete-transient-ports\n"), host.TransientDefaultWrongFileRHEL,
		"warning: file /etc/default/openvswitch on n1")
}
