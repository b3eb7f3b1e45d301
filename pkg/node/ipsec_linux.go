package node

import (
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// readIPsec reads the policies of the thread's namespace, and its associations if a policy needs one; nil if they cannot be
// read. A kernel without IPsec has none.
func readIPsec() *IPsec {
	s := &IPsec{Policies: []IPsecPolicy{}, Associations: []IPsecAssociation{}}
	req := nl.NewNetlinkRequest(nl.XFRM_MSG_GETPOLICY, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	msgs, err := req.Execute(unix.NETLINK_XFRM, nl.XFRM_MSG_NEWPOLICY)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return s
	}
	if err != nil {
		return nil
	}
	for _, m := range msgs {
		if p, ok := policyOf(m); ok {
			s.Policies = append(s.Policies, p)
		}
	}
	if s.needed() {
		states, err := netlink.XfrmStateList(netlink.FAMILY_ALL)
		if err != nil {
			return nil
		}
		for _, x := range states {
			src, _ := netip.AddrFromSlice(x.Src)
			dst, _ := netip.AddrFromSlice(x.Dst)
			s.Associations = append(s.Associations, IPsecAssociation{
				Src: src.Unmap(), Dst: dst.Unmap(), Protocol: int(x.Proto), SPI: uint32(x.Spi), ReqID: uint32(x.Reqid),
			})
		}
	}
	s.sort()
	return s
}

// policyOf reads a struct xfrm_userpolicy_info; not those of sockets.
func policyOf(m []byte) (IPsecPolicy, bool) {
	if len(m) < nl.SizeofXfrmUserpolicyInfo {
		return IPsecPolicy{}, false
	}
	info := nl.DeserializeXfrmUserpolicyInfo(m)
	directions := []string{"in", "out", "fwd"}
	if int(info.Dir) >= len(directions) {
		return IPsecPolicy{}, false
	}
	p := IPsecPolicy{
		Direction: directions[info.Dir], Block: info.Action == uint8(netlink.XFRM_POLICY_BLOCK),
		Src: prefixOf(&info.Sel.Saddr, info.Sel.Family, info.Sel.PrefixlenS), Dst: prefixOf(&info.Sel.Daddr, info.Sel.Family, info.Sel.PrefixlenD),
		Protocol: int(info.Sel.Proto), SrcPort: int(nl.Swap16(info.Sel.Sport)), DstPort: int(nl.Swap16(info.Sel.Dport)),
		Priority: info.Priority, Part: info.Sel.Ifindex != 0,
	}
	attributes, err := nl.ParseRouteAttr(m[nl.SizeofXfrmUserpolicyInfo:])
	if err != nil {
		return IPsecPolicy{}, false
	}
	for _, a := range attributes {
		switch a.Attr.Type {
		case nl.XFRMA_MARK, nl.XFRMA_IF_ID:
			p.Part = true
		case nl.XFRMA_TMPL:
			for b := a.Value; len(b) >= nl.SizeofXfrmUserTmpl; b = b[nl.SizeofXfrmUserTmpl:] {
				t := nl.DeserializeXfrmUserTmpl(b)
				p.Needs = append(p.Needs, IPsecTemplate{
					Src: addressOf(&t.Saddr, t.Family), Dst: addressOf(&t.XfrmId.Daddr, t.Family), Protocol: int(t.XfrmId.Proto),
					SPI: nl.Swap32(t.XfrmId.Spi), ReqID: t.Reqid, Optional: t.Optional != 0,
				})
			}
		}
	}
	return p, p.Src.IsValid() && p.Dst.IsValid()
}

func prefixOf(a *nl.XfrmAddress, family uint16, bits uint8) netip.Prefix {
	if family == unix.AF_INET6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte(a[:16])), int(bits))
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(a[:4])), int(bits))
}

// addressOf is an address unless it stands for any.
func addressOf(a *nl.XfrmAddress, family uint16) netip.Addr {
	if p := prefixOf(a, family, 0).Addr(); !p.IsUnspecified() {
		return p
	}
	return netip.Addr{}
}
