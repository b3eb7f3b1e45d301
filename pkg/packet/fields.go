package packet

// The fields outside numbered series, by their names in ovs-fields(7). Each is used by its address, as &InPort, and never changed.
var (
	ConjID   = Field{Name: "conj_id", NXM: "NXM_NX_CONJ_ID", Bits: 32, ReadOnly: true, place: place{atConj, 4, 0}}
	RecircID = Field{Name: "recirc_id", NXM: "NXM_NX_RECIRC_ID", Bits: 32, Format: Hex, ReadOnly: true, place: place{atRecirc, 4, 0}}
	DPHash   = Field{Name: "dp_hash", NXM: "NXM_NX_DP_HASH", Bits: 32, Format: Hex, Maskable: true, ReadOnly: true, place: place{atDPHash, 4, 0}}

	TunID          = Field{Name: "tun_id", Aliases: []string{"tunnel_id"}, NXM: "NXM_NX_TUN_ID", OXM: "OXM_OF_TUNNEL_ID", Bits: 64, Format: Hex, Maskable: true, place: place{atTunID, 8, 0}}
	TunSrc         = Field{Name: "tun_src", NXM: "NXM_NX_TUN_IPV4_SRC", Bits: 32, Format: IPv4, Maskable: true, place: place{atTunSrc, 4, 0}}
	TunDst         = Field{Name: "tun_dst", NXM: "NXM_NX_TUN_IPV4_DST", Bits: 32, Format: IPv4, Maskable: true, place: place{atTunDst, 4, 0}}
	TunIPv6Src     = Field{Name: "tun_ipv6_src", NXM: "NXM_NX_TUN_IPV6_SRC", Bits: 128, Format: IPv6, Maskable: true, place: place{atTunIPv6, 16, 0}}
	TunIPv6Dst     = Field{Name: "tun_ipv6_dst", NXM: "NXM_NX_TUN_IPV6_DST", Bits: 128, Format: IPv6, Maskable: true, place: place{atTunIPv6 + 16, 16, 0}}
	TunGBPID       = Field{Name: "tun_gbp_id", NXM: "NXM_NX_TUN_GBP_ID", Bits: 16, Maskable: true, place: place{atTunGBP, 2, 0}}
	TunGBPFlags    = Field{Name: "tun_gbp_flags", NXM: "NXM_NX_TUN_GBP_FLAGS", Bits: 8, Format: Hex, Maskable: true, place: place{atTunGBP + 2, 1, 0}}
	TunErspanVer   = Field{Name: "tun_erspan_ver", NXM: "NXOXM_ET_ERSPAN_VER", Bits: 4, Maskable: true, place: place{atTunErspan, 1, 0}}
	TunErspanIdx   = Field{Name: "tun_erspan_idx", NXM: "NXOXM_ET_ERSPAN_IDX", Bits: 20, Format: Hex, Maskable: true, place: place{atTunErspan + 1, 4, 0}}
	TunErspanDir   = Field{Name: "tun_erspan_dir", NXM: "NXOXM_ET_ERSPAN_DIR", Bits: 1, Maskable: true, place: place{atTunErspan + 5, 1, 0}}
	TunErspanHWID  = Field{Name: "tun_erspan_hwid", NXM: "NXOXM_ET_ERSPAN_HWID", Bits: 6, Format: Hex, Maskable: true, place: place{atTunErspan + 6, 1, 0}}
	TunGTPUFlags   = Field{Name: "tun_gtpu_flags", label: "gtpu_flags", Aliases: []string{"gtpu_flags"}, NXM: "NXOXM_ET_GTPU_FLAGS", Bits: 8, Format: Hex, Maskable: true, ReadOnly: true, place: place{atTunGTPU, 1, 0}}
	TunGTPUMsgType = Field{Name: "tun_gtpu_msgtype", label: "gtpu_msgtype", Aliases: []string{"gtpu_msgtype"}, NXM: "NXOXM_ET_GTPU_MSGTYPE", Bits: 8, Maskable: true, ReadOnly: true, place: place{atTunGTPU + 1, 1, 0}}
	TunFlags       = Field{Name: "tun_flags", NXM: "NXM_NX_TUN_FLAGS", Bits: 16, sub: 1, Format: TunnelNames, Maskable: true, place: place{atTunFlags, 2, 0}}
	// Printed by ofproto/trace; OpenFlow cannot express these two.
	TunTOS = Field{Name: "tun_tos", Bits: 8, Format: Hex, ReadOnly: true, place: place{atTunTOS, 1, 0}}
	TunTTL = Field{Name: "tun_ttl", Bits: 8, ReadOnly: true, place: place{atTunTOS + 1, 1, 0}}

	InPort       = Field{Name: "in_port", NXM: "NXM_OF_IN_PORT", Bits: 16, Format: Port, place: place{atInPort + 2, 2, 0}}
	InPortOXM    = Field{Name: "in_port_oxm", OXM: "OXM_OF_IN_PORT", Bits: 32, Format: Port, place: place{atInPort, 4, 0}}
	SkbPriority  = Field{Name: "skb_priority", Bits: 32, Format: Hex, ReadOnly: true, place: place{atSkb, 4, 0}}
	PktMark      = Field{Name: "pkt_mark", NXM: "NXM_NX_PKT_MARK", Bits: 32, Format: Hex, Maskable: true, place: place{atMark, 4, 0}}
	ActsetOutput = Field{Name: "actset_output", NXM: "ONFOXM_ET_ACTSET_OUTPUT", OXM: "OXM_OF_ACTSET_OUTPUT", Bits: 32, Format: Port, ReadOnly: true, place: place{atActset, 4, 0}}
	PacketType   = Field{Name: "packet_type", OXM: "OXM_OF_PACKET_TYPE", Bits: 32, Format: TypePair, ReadOnly: true, place: place{atPktType, 4, 0}}

	CTState   = Field{Name: "ct_state", NXM: "NXM_NX_CT_STATE", Bits: 32, Format: StateNames, Maskable: true, ReadOnly: true, place: place{atCTState, 4, 0}}
	CTZone    = Field{Name: "ct_zone", NXM: "NXM_NX_CT_ZONE", Bits: 16, ReadOnly: true, place: place{atCTZone, 2, 0}}
	CTMark    = Field{Name: "ct_mark", NXM: "NXM_NX_CT_MARK", Bits: 32, Format: Hex, Maskable: true, place: place{atCTMark, 4, 0}}
	CTLabel   = Field{Name: "ct_label", NXM: "NXM_NX_CT_LABEL", Bits: 128, Format: Hex, Maskable: true, place: place{atCTLabel, 16, 0}}
	CTNWSrc   = Field{Name: "ct_nw_src", NXM: "NXM_NX_CT_NW_SRC", Bits: 32, Format: IPv4, Needs: NeedsCT, Maskable: true, ReadOnly: true, place: place{atCTNW, 4, 0}}
	CTNWDst   = Field{Name: "ct_nw_dst", NXM: "NXM_NX_CT_NW_DST", Bits: 32, Format: IPv4, Needs: NeedsCT, Maskable: true, ReadOnly: true, place: place{atCTNW + 4, 4, 0}}
	CTIPv6Src = Field{Name: "ct_ipv6_src", NXM: "NXM_NX_CT_IPV6_SRC", Bits: 128, Format: IPv6, Needs: NeedsCT, Maskable: true, ReadOnly: true, place: place{atCTIPv6, 16, 0}}
	CTIPv6Dst = Field{Name: "ct_ipv6_dst", NXM: "NXM_NX_CT_IPV6_DST", Bits: 128, Format: IPv6, Needs: NeedsCT, Maskable: true, ReadOnly: true, place: place{atCTIPv6 + 16, 16, 0}}
	CTNWProto = Field{Name: "ct_nw_proto", NXM: "NXM_NX_CT_NW_PROTO", Bits: 8, Needs: NeedsCT, ReadOnly: true, place: place{atCTProto, 1, 0}}
	CTTPSrc   = Field{Name: "ct_tp_src", NXM: "NXM_NX_CT_TP_SRC", Bits: 16, Needs: NeedsCT, Maskable: true, ReadOnly: true, place: place{atCTTP, 2, 0}}
	CTTPDst   = Field{Name: "ct_tp_dst", NXM: "NXM_NX_CT_TP_DST", Bits: 16, Needs: NeedsCT, Maskable: true, ReadOnly: true, place: place{atCTTP + 2, 2, 0}}

	Metadata = Field{Name: "metadata", OXM: "OXM_OF_METADATA", Bits: 64, Format: Hex, Maskable: true, place: place{atMetadata, 8, 0}}

	EthSrc  = Field{Name: "eth_src", Aliases: []string{"dl_src"}, label: "dl_src", NXM: "NXM_OF_ETH_SRC", OXM: "OXM_OF_ETH_SRC", Bits: 48, Format: Ethernet, Needs: NeedsEthernet, Maskable: true, place: place{atEth, 6, 0}}
	EthDst  = Field{Name: "eth_dst", Aliases: []string{"dl_dst"}, label: "dl_dst", NXM: "NXM_OF_ETH_DST", OXM: "OXM_OF_ETH_DST", Bits: 48, Format: Ethernet, Needs: NeedsEthernet, Maskable: true, place: place{atEth + 6, 6, 0}}
	EthType = Field{Name: "eth_type", Aliases: []string{"dl_type"}, label: "dl_type", NXM: "NXM_OF_ETH_TYPE", OXM: "OXM_OF_ETH_TYPE", Bits: 16, Format: Hex, Needs: NeedsEthernet, ReadOnly: true, digits: 4, place: place{atEthType, 2, 0}}

	VLANTCI    = Field{Name: "vlan_tci", Aliases: []string{"vlan_tci0"}, NXM: "NXM_OF_VLAN_TCI", Bits: 16, Format: Hex, Needs: NeedsEthernet, Maskable: true, digits: 4, place: place{atVLAN, 2, 0}}
	VLANTCI1   = Field{Name: "vlan_tci1", Bits: 16, Format: Hex, Needs: NeedsEthernet, Maskable: true, ReadOnly: true, digits: 4, place: place{atVLAN + 2, 2, 0}}
	DLVLAN     = Field{Name: "dl_vlan", Aliases: []string{"dl_vlan0"}, Bits: 12, Needs: NeedsEthernet, place: place{atVLAN, 2, 0}}
	DLVLAN1    = Field{Name: "dl_vlan1", Bits: 12, Needs: NeedsEthernet, ReadOnly: true, place: place{atVLAN + 2, 2, 0}}
	DLVLANPCP  = Field{Name: "dl_vlan_pcp", Aliases: []string{"dl_vlan_pcp0"}, Bits: 3, Needs: NeedsEthernet, place: place{atVLAN, 2, 13}}
	DLVLANPCP1 = Field{Name: "dl_vlan_pcp1", Bits: 3, Needs: NeedsEthernet, ReadOnly: true, place: place{atVLAN + 2, 2, 13}}
	VLANVID    = Field{Name: "vlan_vid", OXM: "OXM_OF_VLAN_VID", Bits: 13, sub: 12, Needs: NeedsEthernet, Maskable: true, place: place{atVLAN, 2, 0}}
	VLANPCP    = Field{Name: "vlan_pcp", OXM: "OXM_OF_VLAN_PCP", Bits: 3, Needs: NeedsVLAN, place: place{atVLAN, 2, 13}}

	MPLSLabel = Field{Name: "mpls_label", OXM: "OXM_OF_MPLS_LABEL", Bits: 20, Needs: NeedsMPLS, place: place{atMPLS, 4, 12}}
	MPLSTC    = Field{Name: "mpls_tc", OXM: "OXM_OF_MPLS_TC", Bits: 3, Needs: NeedsMPLS, place: place{atMPLS, 4, 9}}
	MPLSBOS   = Field{Name: "mpls_bos", OXM: "OXM_OF_MPLS_BOS", Bits: 1, Needs: NeedsMPLS, ReadOnly: true, place: place{atMPLS, 4, 8}}
	MPLSTTL   = Field{Name: "mpls_ttl", NXM: "NXM_NX_MPLS_TTL", Bits: 8, Needs: NeedsMPLS, place: place{atMPLS, 4, 0}}
	MPLSLSE1  = Field{Name: "mpls_lse1", Bits: 32, Format: Hex, Needs: NeedsMPLS, ReadOnly: true, place: place{atMPLS + 4, 4, 0}}
	MPLSLSE2  = Field{Name: "mpls_lse2", Bits: 32, Format: Hex, Needs: NeedsMPLS, ReadOnly: true, place: place{atMPLS + 8, 4, 0}}

	IPSrc     = Field{Name: "ip_src", Aliases: []string{"nw_src"}, label: "nw_src", NXM: "NXM_OF_IP_SRC", OXM: "OXM_OF_IPV4_SRC", Bits: 32, Format: IPv4, Needs: NeedsIPv4, Maskable: true, place: place{atNW, 4, 0}}
	IPDst     = Field{Name: "ip_dst", Aliases: []string{"nw_dst"}, label: "nw_dst", NXM: "NXM_OF_IP_DST", OXM: "OXM_OF_IPV4_DST", Bits: 32, Format: IPv4, Needs: NeedsIPv4, Maskable: true, place: place{atNW + 4, 4, 0}}
	IPv6Src   = Field{Name: "ipv6_src", NXM: "NXM_NX_IPV6_SRC", OXM: "OXM_OF_IPV6_SRC", Bits: 128, Format: IPv6, Needs: NeedsIPv6, Maskable: true, place: place{atIPv6, 16, 0}}
	IPv6Dst   = Field{Name: "ipv6_dst", NXM: "NXM_NX_IPV6_DST", OXM: "OXM_OF_IPV6_DST", Bits: 128, Format: IPv6, Needs: NeedsIPv6, Maskable: true, place: place{atIPv6 + 16, 16, 0}}
	IPv6Label = Field{Name: "ipv6_label", NXM: "NXM_NX_IPV6_LABEL", OXM: "OXM_OF_IPV6_FLABEL", Bits: 20, Format: Hex, Needs: NeedsIPv6, Maskable: true, digits: 5, place: place{atLabel, 4, 0}}
	NWProto   = Field{Name: "nw_proto", Aliases: []string{"ip_proto"}, NXM: "NXM_OF_IP_PROTO", OXM: "OXM_OF_IP_PROTO", Bits: 8, Needs: NeedsIP, ReadOnly: true, place: place{atProto + 1, 1, 0}}
	NWTOS     = Field{Name: "nw_tos", NXM: "NXM_OF_IP_TOS", Bits: 8, Needs: NeedsIP, place: place{atTOS, 1, 0}}
	IPDSCP    = Field{Name: "ip_dscp", OXM: "OXM_OF_IP_DSCP", Bits: 6, Needs: NeedsIP, place: place{atTOS, 1, 2}}
	NWECN     = Field{Name: "nw_ecn", Aliases: []string{"ip_ecn"}, NXM: "NXM_NX_IP_ECN", OXM: "OXM_OF_IP_ECN", Bits: 2, Needs: NeedsIP, place: place{atTOS, 1, 0}}
	NWTTL     = Field{Name: "nw_ttl", NXM: "NXM_NX_IP_TTL", Bits: 8, Needs: NeedsIP, place: place{atTTL, 1, 0}}
	IPFrag    = Field{Name: "ip_frag", Aliases: []string{"nw_frag"}, label: "nw_frag", NXM: "NXM_NX_IP_FRAG", Bits: 2, Format: Frag, Needs: NeedsIP, Maskable: true, ReadOnly: true, place: place{atFrag, 1, 0}}

	ARPOp  = Field{Name: "arp_op", NXM: "NXM_OF_ARP_OP", OXM: "OXM_OF_ARP_OP", Bits: 16, Needs: NeedsARP, place: place{atProto, 2, 0}}
	ARPSPA = Field{Name: "arp_spa", NXM: "NXM_OF_ARP_SPA", OXM: "OXM_OF_ARP_SPA", Bits: 32, Format: IPv4, Needs: NeedsARP, Maskable: true, place: place{atNW, 4, 0}}
	ARPTPA = Field{Name: "arp_tpa", NXM: "NXM_OF_ARP_TPA", OXM: "OXM_OF_ARP_TPA", Bits: 32, Format: IPv4, Needs: NeedsARP, Maskable: true, place: place{atNW + 4, 4, 0}}
	ARPSHA = Field{Name: "arp_sha", NXM: "NXM_NX_ARP_SHA", OXM: "OXM_OF_ARP_SHA", Bits: 48, Format: Ethernet, Needs: NeedsARP, Maskable: true, place: place{atARP, 6, 0}}
	ARPTHA = Field{Name: "arp_tha", NXM: "NXM_NX_ARP_THA", OXM: "OXM_OF_ARP_THA", Bits: 48, Format: Ethernet, Needs: NeedsARP, Maskable: true, place: place{atARP + 6, 6, 0}}

	NSHFlags  = Field{Name: "nsh_flags", NXM: "NXOXM_NSH_FLAGS", Bits: 8, Needs: NeedsNSH, Maskable: true, place: place{atNSH, 1, 0}}
	NSHTTL    = Field{Name: "nsh_ttl", NXM: "NXOXM_NSH_TTL", Bits: 8, Needs: NeedsNSH, place: place{atNSH + 1, 1, 0}}
	NSHMDType = Field{Name: "nsh_mdtype", NXM: "NXOXM_NSH_MDTYPE", Bits: 8, Needs: NeedsNSH, ReadOnly: true, place: place{atNSH + 2, 1, 0}}
	NSHNP     = Field{Name: "nsh_np", NXM: "NXOXM_NSH_NP", Bits: 8, Needs: NeedsNSH, ReadOnly: true, place: place{atNSH + 3, 1, 0}}
	NSHSPI    = Field{Name: "nsh_spi", Aliases: []string{"nsp"}, NXM: "NXOXM_NSH_SPI", Bits: 24, Format: Hex, Needs: NeedsNSH, place: place{atNSH + 4, 4, 0}}
	NSHSI     = Field{Name: "nsh_si", Aliases: []string{"nsi"}, NXM: "NXOXM_NSH_SI", Bits: 8, Needs: NeedsNSH, place: place{atNSH + 8, 1, 0}}
	NSHC1     = Field{Name: "nsh_c1", Aliases: []string{"nshc1"}, NXM: "NXOXM_NSH_C1", Bits: 32, Format: Hex, Needs: NeedsNSH, Maskable: true, place: place{atNSH + 9, 4, 0}}
	NSHC2     = Field{Name: "nsh_c2", Aliases: []string{"nshc2"}, NXM: "NXOXM_NSH_C2", Bits: 32, Format: Hex, Needs: NeedsNSH, Maskable: true, place: place{atNSH + 13, 4, 0}}
	NSHC3     = Field{Name: "nsh_c3", Aliases: []string{"nshc3"}, NXM: "NXOXM_NSH_C3", Bits: 32, Format: Hex, Needs: NeedsNSH, Maskable: true, place: place{atNSH + 17, 4, 0}}
	NSHC4     = Field{Name: "nsh_c4", Aliases: []string{"nshc4"}, NXM: "NXOXM_NSH_C4", Bits: 32, Format: Hex, Needs: NeedsNSH, Maskable: true, place: place{atNSH + 21, 4, 0}}

	TCPSrc   = Field{Name: "tcp_src", Aliases: []string{"tp_src"}, label: "tp_src", NXM: "NXM_OF_TCP_SRC", OXM: "OXM_OF_TCP_SRC", Bits: 16, Needs: NeedsTCP, Maskable: true, place: place{atTP, 2, 0}}
	TCPDst   = Field{Name: "tcp_dst", Aliases: []string{"tp_dst"}, label: "tp_dst", NXM: "NXM_OF_TCP_DST", OXM: "OXM_OF_TCP_DST", Bits: 16, Needs: NeedsTCP, Maskable: true, place: place{atTP + 2, 2, 0}}
	TCPFlags = Field{Name: "tcp_flags", NXM: "NXM_NX_TCP_FLAGS", OXM: "OXM_OF_TCP_FLAGS", Bits: 12, Format: TCPNames, Needs: NeedsTCP, Maskable: true, ReadOnly: true, place: place{atTCPFlags, 2, 0}}
	UDPSrc   = Field{Name: "udp_src", label: "tp_src", NXM: "NXM_OF_UDP_SRC", OXM: "OXM_OF_UDP_SRC", Bits: 16, Needs: NeedsUDP, Maskable: true, place: place{atTP, 2, 0}}
	UDPDst   = Field{Name: "udp_dst", label: "tp_dst", NXM: "NXM_OF_UDP_DST", OXM: "OXM_OF_UDP_DST", Bits: 16, Needs: NeedsUDP, Maskable: true, place: place{atTP + 2, 2, 0}}
	SCTPSrc  = Field{Name: "sctp_src", label: "tp_src", OXM: "OXM_OF_SCTP_SRC", Bits: 16, Needs: NeedsSCTP, Maskable: true, place: place{atTP, 2, 0}}
	SCTPDst  = Field{Name: "sctp_dst", label: "tp_dst", OXM: "OXM_OF_SCTP_DST", Bits: 16, Needs: NeedsSCTP, Maskable: true, place: place{atTP + 2, 2, 0}}

	ICMPType      = Field{Name: "icmp_type", NXM: "NXM_OF_ICMP_TYPE", OXM: "OXM_OF_ICMPV4_TYPE", Bits: 8, Needs: NeedsICMPv4, place: place{atTP + 1, 1, 0}}
	ICMPCode      = Field{Name: "icmp_code", NXM: "NXM_OF_ICMP_CODE", OXM: "OXM_OF_ICMPV4_CODE", Bits: 8, Needs: NeedsICMPv4, place: place{atTP + 3, 1, 0}}
	ICMPv6Type    = Field{Name: "icmpv6_type", label: "icmp_type", NXM: "NXM_NX_ICMPV6_TYPE", OXM: "OXM_OF_ICMPV6_TYPE", Bits: 8, Needs: NeedsICMPv6, place: place{atTP + 1, 1, 0}}
	ICMPv6Code    = Field{Name: "icmpv6_code", label: "icmp_code", NXM: "NXM_NX_ICMPV6_CODE", OXM: "OXM_OF_ICMPV6_CODE", Bits: 8, Needs: NeedsICMPv6, place: place{atTP + 3, 1, 0}}
	NDTarget      = Field{Name: "nd_target", NXM: "NXM_NX_ND_TARGET", OXM: "OXM_OF_IPV6_ND_TARGET", Bits: 128, Format: IPv6, Needs: NeedsND, Maskable: true, place: place{atND, 16, 0}}
	NDSLL         = Field{Name: "nd_sll", NXM: "NXM_NX_ND_SLL", OXM: "OXM_OF_IPV6_ND_SLL", Bits: 48, Format: Ethernet, Needs: NeedsNDSolicit, Maskable: true, place: place{atARP, 6, 0}}
	NDTLL         = Field{Name: "nd_tll", NXM: "NXM_NX_ND_TLL", OXM: "OXM_OF_IPV6_ND_TLL", Bits: 48, Format: Ethernet, Needs: NeedsNDAdvert, Maskable: true, place: place{atARP + 6, 6, 0}}
	NDReserved    = Field{Name: "nd_reserved", NXM: "ERICOXM_OF_ICMPV6_ND_RESERVED", Bits: 32, Needs: NeedsND, place: place{atNDRes, 4, 0}}
	NDOptionsType = Field{Name: "nd_options_type", NXM: "ERICOXM_OF_ICMPV6_ND_OPTIONS_TYPE", Bits: 8, Needs: NeedsND, place: place{atNDOpt, 1, 0}}
)

// fixedFields are all of these.
var fixedFields = [...]*Field{
	&ConjID, &RecircID, &DPHash, &TunID, &TunSrc, &TunDst, &TunIPv6Src, &TunIPv6Dst, &TunGBPID, &TunGBPFlags,
	&TunErspanVer, &TunErspanIdx, &TunErspanDir, &TunErspanHWID, &TunGTPUFlags, &TunGTPUMsgType, &TunFlags,
	&TunTOS, &TunTTL, &InPort, &InPortOXM, &SkbPriority, &PktMark, &ActsetOutput, &PacketType, &CTState, &CTZone,
	&CTMark, &CTLabel, &CTNWSrc, &CTNWDst, &CTIPv6Src, &CTIPv6Dst, &CTNWProto, &CTTPSrc, &CTTPDst, &Metadata,
	&EthSrc, &EthDst, &EthType, &VLANTCI, &VLANTCI1, &DLVLAN, &DLVLAN1, &DLVLANPCP, &DLVLANPCP1, &VLANVID,
	&VLANPCP, &MPLSLabel, &MPLSTC, &MPLSBOS, &MPLSTTL, &MPLSLSE1, &MPLSLSE2, &IPSrc, &IPDst, &IPv6Src, &IPv6Dst,
	&IPv6Label, &NWProto, &NWTOS, &IPDSCP, &NWECN, &NWTTL, &IPFrag, &ARPOp, &ARPSPA, &ARPTPA, &ARPSHA, &ARPTHA,
	&NSHFlags, &NSHTTL, &NSHMDType, &NSHNP, &NSHSPI, &NSHSI, &NSHC1, &NSHC2, &NSHC3, &NSHC4, &TCPSrc, &TCPDst,
	&TCPFlags, &UDPSrc, &UDPDst, &SCTPSrc, &SCTPDst, &ICMPType, &ICMPCode, &ICMPv6Type, &ICMPv6Code, &NDTarget,
	&NDSLL, &NDTLL, &NDReserved, &NDOptionsType,
}
