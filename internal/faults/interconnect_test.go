//go:build lab

package faults

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// interconnectFaults are made where two zones are joined by a real ovn-ic each: the
// lab, and a zone of databases alone, with a gateway that is a row.
var interconnectFaults = []fault{
	{
		check: "ic-transit-broken", name: "ovn-ic killed", on: "central",
		how:    "kill -9 of ovn-ic",
		make:   func(s *scene) { s.keepArgs("ovn-ic"); s.kill(s.pid("central", "ovn-ic"), syscall.SIGKILL) },
		mend:   func(s *scene) { s.startAgain("ovn-ic") },
		object: "daemon ovn-ic",
	},
	{
		check: "ic-transit-broken", name: "ovn-ic paused", on: "central",
		how:    "ovn-appctl -t ovn-ic pause",
		make:   func(s *scene) { s.sh("central", "ovn-appctl -t ovn-ic pause") },
		mend:   func(s *scene) { s.sh("central", "ovn-appctl -t ovn-ic resume") },
		object: "daemon ovn-ic",
	},
	{
		check: "ic-transit-broken", name: "the other zone's gateway gone", on: "central",
		how:    "the chassis of the other zone's gateway deleted in its Southbound",
		make:   func(s *scene) { s.west("ovn-sbctl", "chassis-del gw-west") },
		mend:   func(s *scene) { s.westGateway(); s.westBind() },
		object: "port ts1-lr-west",
	},
	{
		check: "ic-transit-broken", name: "another tunnel key", on: "central",
		how: "other_config:requested-tnl-key of the transit switch changed while ovn-ic is paused",
		make: func(s *scene) {
			s.sh("central", "ovn-appctl -t ovn-ic pause; ovn-nbctl --wait=sb set Logical_Switch ts1 other_config:requested-tnl-key=16711999")
		},
		mend:   func(s *scene) { s.sh("central", "ovn-appctl -t ovn-ic resume") },
		object: "switch ts1",
	},
	{
		check: "ic-transit-broken", name: "zone without name", on: "central",
		how:    "ovn-nbctl clear NB_Global . name",
		make:   func(s *scene) { s.sh("central", `ovn-nbctl set NB_Global . 'name=""'`) },
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl set NB_Global . name=east") },
		object: "zone",
	},
}

// joinZones makes the second zone beside the lab's, and joins both.
func joinZones(s *scene) {
	s.Helper()
	s.sh("central", `
cd %s/central
mkdir -p west
for db in nb sb; do
	ovsdb-tool create west/$db.db /usr/share/ovn/ovn-$db.ovsschema
	ovsdb-tool create var/lib/ovn/ovn_ic_${db}_db.db /usr/share/ovn/ovn-ic-$db.ovsschema
	ovsdb-server --detach --no-chdir --pidfile=$PWD/west/$db.pid --unixctl=$PWD/west/$db.ctl --log-file=$PWD/west/$db.log -vconsole:off --remote=punix:$PWD/west/$db.sock west/$db.db
	ovsdb-server --detach --no-chdir --pidfile=$OVN_RUNDIR/ovn_ic_${db}_db.pid --unixctl=$OVN_RUNDIR/ovn_ic_${db}_db.ctl --log-file=$OVN_LOGDIR/ovsdb-server-ic-$db.log -vconsole:off \
		--remote=punix:$OVN_RUNDIR/ovn_ic_${db}_db.sock $PWD/var/lib/ovn/ovn_ic_${db}_db.db
done
west="--ovnnb-db=unix:$PWD/west/nb.sock --ovnsb-db=unix:$PWD/west/sb.sock"
ic="--ic-nb-db=unix:$OVN_RUNDIR/ovn_ic_nb_db.sock --ic-sb-db=unix:$OVN_RUNDIR/ovn_ic_sb_db.sock"
ovn-nbctl --db=unix:$PWD/west/nb.sock set NB_Global . name=west
ovn-nbctl set NB_Global . name=east
OVN_RUNDIR=$PWD/west ovn-northd --detach --no-chdir --pidfile=$PWD/west/ovn-northd.pid --unixctl=$PWD/west/northd.ctl --log-file=$PWD/west/northd.log -vconsole:off $west
OVN_RUNDIR=$PWD/west ovn-ic --detach --no-chdir --pidfile=$PWD/west/ovn-ic.pid --unixctl=$PWD/west/ic.ctl --log-file=$PWD/west/ic.log -vconsole:off $west $ic
ovn-ic --detach --no-chdir --pidfile=$OVN_RUNDIR/ovn-ic.pid --log-file=$OVN_LOGDIR/ovn-ic.log -vconsole:off --ovnnb-db=unix:$OVN_RUNDIR/ovnnb_db.sock --ovnsb-db=unix:$OVN_RUNDIR/ovnsb_db.sock $ic
ovn-ic-nbctl --db=unix:$OVN_RUNDIR/ovn_ic_nb_db.sock ts-add ts1
`, s.Dir)
	s.sh("node1", "ovs-vsctl set Open_vSwitch . external_ids:ovn-is-interconn=true")
	s.westGateway()
	s.until("both zones have the transit switch", func() bool {
		return strings.Contains(s.sh("central", "ovn-nbctl --bare --columns=name list Logical_Switch"), "ts1") && strings.Contains(s.west("ovn-nbctl", "--bare --columns=name list Logical_Switch"), "ts1")
	})
	s.west("ovn-nbctl", "lr-add lr-west -- lrp-add lr-west lr-west-ts1 00:00:00:00:99:02 169.254.99.2/24 -- lrp-set-gateway-chassis lr-west-ts1 gw-west -- "+
		"lsp-add ts1 ts1-lr-west -- lsp-set-type ts1-lr-west router -- lsp-set-addresses ts1-lr-west router -- lsp-set-options ts1-lr-west router-port=lr-west-ts1")
	s.westBind()
	chassis := s.sh("node1", "ovs-vsctl get Open_vSwitch . external_ids:system-id")
	s.sh("central", "ovn-nbctl lr-add lr-east -- lrp-add lr-east lr-east-ts1 00:00:00:00:99:01 169.254.99.1/24 -- lrp-set-gateway-chassis lr-east-ts1 %s -- "+
		"lsp-add ts1 ts1-lr-east -- lsp-set-type ts1-lr-east router -- lsp-set-addresses ts1-lr-east router -- lsp-set-options ts1-lr-east router-port=lr-east-ts1", chassis)
	s.until("the other zone's port is bound", func() bool {
		return s.sh("central", "ovn-sbctl --bare --columns=chassis find Port_Binding logical_port=ts1-lr-west") != ""
	})
	s.settle()
}

// westGateway makes the chassis of the other zone's gateway.
func (s *scene) westGateway() {
	s.Helper()
	s.west("ovn-sbctl", "chassis-add gw-west geneve 172.30.0.200 -- set Chassis gw-west hostname=gw-west other_config:is-interconn=true")
	s.until("the gateway is known here", func() bool {
		return strings.Contains(s.sh("central", "ovn-sbctl --bare --columns=name list Chassis"), "gw-west")
	})
}

// westBind binds the other zone's router port to its gateway, as the ovn-controller
// there would.
func (s *scene) westBind() {
	s.Helper()
	s.until("the other zone's northd has made the port", func() bool {
		return s.west("ovn-sbctl", "--bare --columns=_uuid find Port_Binding logical_port=cr-lr-west-ts1") != ""
	})
	s.west("ovn-sbctl", "--may-exist lsp-bind cr-lr-west-ts1 gw-west")
}

// west runs a tool of OVN on the other zone's database.
func (s *scene) west(tool, command string) string {
	s.Helper()
	db := strings.TrimSuffix(strings.TrimPrefix(tool, "ovn-"), "ctl")
	return s.sh("central", "%s --db=unix:%s/central/west/%s.sock %s", tool, s.Dir, db, command)
}

// keepArgs keeps the command line of a daemon of central for startAgain.
func (s *scene) keepArgs(daemon string) {
	s.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", s.sh("central", "cat $OVN_RUNDIR/%s.pid", daemon), "cmdline"))
	if err == nil {
		err = os.WriteFile(s.argsFile("central", daemon), b, 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// startAgain starts a daemon of central as it ran.
func (s *scene) startAgain(daemon string) {
	s.Helper()
	b, err := os.ReadFile(s.argsFile("central", daemon))
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.Lab.Run(s.ctx, "central", strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")...); err != nil {
		s.Fatal(err)
	}
}
