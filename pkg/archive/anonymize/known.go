package anonymize

// known are words that stay: those by which OVN, the CMSs and this program recognise things. They identify nobody.
const known = `
br int ex local phys provider tun patch to ovn ovs k8s mp0 mp ovn0 tun0 br0 vxlan geneve stt vxlan0 lo eth system dpif netdev
GR rtos rtoj rtoe stor jtor etor ext join node local switch transit cluster router ovn_cluster_router default cr lrp lsp ls lr
distributed gateway internal external localnet localport vtep virtual remote router l2gateway l3gateway chassisredirect
Service Services UDN TCP UDP SCTP tcp udp sctp icmp icmp4 icmp6 ip ip4 ip6 v4 v6 ipv4 ipv6 arp nd any all none true false yes no on off up down
NetworkPolicy AdminNetworkPolicy BaselineAdminNetworkPolicy NetworkPolicyOwnerType EgressFirewall EgressIP EgressQoS EgressService Namespace NodePort LoadBalancer
ClusterIP Ingress Egress ingress egress allow related drop reject pass stateless NP ANP BANP EF EIP MulticastNS MulticastCluster Default deny isolation
kube ovnkube neutron openstack microovn vendor kubevirt pod pods namespace name owner type subnet vpc logical physical network networks port ports chassis
Device interface bridge internal system id dhcp dns metadata snat dnat masquerade join subnet template rtr swt clusterrtr meter acl logging
unknown dynamic primary secondary priority load balancer group hairpin affinity session OVN NB SB IC ic ts transit ssl tcp unix punix ptcp pssl pssl
json nb sb db txt conf control flows groups ports meters tlv map files absent etc var run lib usr proc sys net ipv4 ipv6 conf logs units service features space glob pod routes route parts index
openvswitch vswitchd ovsdb server controller northd central host ovn northbound southbound ovnnb ovnsb
node-exec native raft standalone clustered leader follower
`
