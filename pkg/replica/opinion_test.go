package replica_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/replica"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// TestSecondOpinion reads rows of many tables both ways: by the parser of the bulk reader, and by libovsdb's mapper.
func TestSecondOpinion(t *testing.T) {
	t.Parallel()
	north, south := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	stop := ovsdbtest.Northd(t, north, south)
	ovsdbtest.Run(t, "ovn-sbctl", "--db="+south.Remote(), "init", "--", "chassis-add", "node1", "geneve,vxlan", "192.0.2.11", "--",
		"create", "Chassis_Private", "name=node1", "nb_cfg=3", "nb_cfg_timestamp=1700000000000")
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+north.Remote(), "ls-add", "a", "--", "lsp-add", "a", "a-1", "--", "lsp-set-addresses", "a-1", "0a:00:00:00:00:01 10.0.0.1 fd00::1",
		"--", "lr-add", "r", "--", "lrp-add", "r", "r-a", "0a:00:00:00:01:01", "10.0.0.254/24", "fd00::ff/64", "--", "lrp-set-gateway-chassis", "r-a", "node1", "20",
		"--", "lsp-add", "a", "a-r", "--", "lsp-set-type", "a-r", "router", "--", "lsp-set-addresses", "a-r", "router", "--", "lsp-set-options", "a-r", "router-port=r-a",
		"--", "lb-add", "lb", "10.96.0.1:80", "10.0.0.1:8080", "--", "ls-lb-add", "a", "lb", "--", "lr-nat-add", "r", "snat", "10.0.0.254", "10.0.0.0/24",
		"--", "lr-route-add", "r", "0.0.0.0/0", "10.0.0.9", "--", "lr-policy-add", "r", "100", "ip4.src == 10.0.0.1", "reroute", "10.0.0.8",
		"--", "pg-add", "pg", "a-1", "--", "create", "Address_Set", "name=as", "addresses=10.0.0.1", "--", "acl-add", "pg", "to-lport", "1001", "ip4.src == $as", "drop")
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+north.Remote(), "--timeout=30", "--wait=sb", "sync")
	stop() // the rows rest
	ovsdbtest.Run(t, "ovn-sbctl", "--db="+south.Remote(), "lsp-bind", "a-1", "node1", "--", "set", "Port_Binding", "a-1", "up=true", "tag=5", "nat_addresses=x,y")
	for _, side := range []struct {
		server *ovsdbtest.Server
		rows   []ovsdb.Row
	}{
		{north, []ovsdb.Row{
			nb.Global{}, nb.LogicalSwitch{}, nb.LogicalSwitchPort{}, nb.LogicalRouter{}, nb.LogicalRouterPort{}, nb.GatewayChassis{}, nb.LoadBalancer{}, nb.NAT{},
			nb.StaticRoute{}, nb.Policy{}, nb.PortGroup{}, nb.AddressSet{}, nb.ACL{},
		}},
		{south, []ovsdb.Row{
			sb.Global{}, sb.Chassis{}, sb.ChassisPrivate{}, sb.Encap{}, sb.DatapathBinding{}, sb.PortBinding{}, sb.LogicalFlow{}, sb.AddressSet{}, sb.PortGroup{},
		}},
	} {
		client := side.server.Dial()
		followed := map[string]map[ovsdb.UUID]ovsdb.Row{}
		ctx, cancel := context.WithCancel(t.Context())
		err := replica.Follow(ctx, client, side.rows, func(u replica.Update) {
			for _, c := range u.Changes {
				if followed[c.Table] == nil {
					followed[c.Table] = map[ovsdb.UUID]ovsdb.Row{}
				}
				followed[c.Table][c.UUID] = c.New
			}
			cancel()
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range side.rows {
			rows := reflect.New(reflect.SliceOf(reflect.TypeOf(row)))
			if err := client.Select(t.Context(), &ovsdb.Query{Rows: rows.Interface()}); err != nil {
				t.Fatal(err)
			}
			read := map[ovsdb.UUID]ovsdb.Row{}
			for i := range rows.Elem().Len() {
				one := rows.Elem().Index(i)
				read[ovsdb.UUID(one.FieldByName("UUID").String())] = one.Interface().(ovsdb.Row)
			}
			if len(read) == 0 {
				t.Errorf("no rows of %s were compared", row.Table())
			}
			if diff := cmp.Diff(read, followed[row.Table()], cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.SortSlices(func(a, b ovsdb.UUID) bool { return a < b })); diff != "" {
				t.Errorf("%s (-bulk reader +libovsdb):\n%s", row.Table(), diff)
			}
		}
	}
}
