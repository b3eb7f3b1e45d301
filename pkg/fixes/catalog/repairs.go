package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
)

// Repairs are all repairs, in the order in which `fix list` shows them.
var Repairs = []*fixes.Repair{
	// the host and its network
	RestoreBridgeIP,
	AttachUplink,
	MoveAddresses,
	SetTransientDefault,
	LoadModules,
	ModulesAtBoot,
	SetBridgeUp,
	StopChecksumOffload,
	RaiseConntrackLimit,
	EnableForwarding,
	AddClusterRoute,
	DeleteNeighbour,

	// the local switch
	StartVswitchd,
	RestoreConfDB,
	RestoreSwitchConfig,
	RemovePort,
	SetPortUp,
	ClearIfaceID,
	StandaloneBridge,
	RaiseFlowLimit,
	EnlargeMACTable,

	// ovn-controller and the chassis
	SetChassisKey,
	SetEncapIP,
	SetHostname,
	SetBridgeMapping,
	NewSystemID,
	StartController,
	RestartController,
	IgnoreNorthdVersion,
	ClearRequestedChassis,
	SetIfaceIDVer,
	PinPort,
	DeleteChassis,
	DeleteMACBinding,
	DeleteFDB,
	ReinstallMACBinding,

	// the databases and ovn-northd
	StartNorthd,
	ResumeNorthd,
	ListenDatabase,
	SetInactivityProbe,
	KickMember,
	RaiseElectionTimer,
	CompactDatabase,
	ResetClusterState,
	UpgradeDatabase,

	// the logical network
	EnablePort,
	EnableRouter,
	LinkRouterPort,
	LinkRouters,
	MakeLocalnetPort,

	// gateways, tunnels and interconnect
	RouterChassis,
	GatewayChassisOf,
	DeleteTunnel,
	RetryTunnel,
	DropVXLAN,
	VXLANModeOff,

	// load balancers, policies and addresses
	AttachLoadBalancer,
	AttachLoadBalancerGroup,
	SetLoadBalancerProtocol,
	SetHairpinAddress,
	MapBackend,
	FlushConnections,
	CompleteDHCPOptions,
	SetDHCPOptions,
	SetPortAddress,

	// the CMS
	KubeOVNDefaultRoute,
	KubeOVNNodePort,
	KubeOVNNodePolicy,
	KubeOVNNodeGroup,
	KubeOVNSubnetPolicy,
	KubeOVNGatewayPolicy,
	KubeOVNPortGroup,
	KubeOVNOVN0,
	DeleteEgressRow,
}

// Find returns the named repair; nil if there is none.
func Find(name string) *fixes.Repair {
	for _, r := range Repairs {
		if r.Name == name {
			return r
		}
	}
	return nil
}
