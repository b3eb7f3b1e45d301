package neutron

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Addresses that callers ask for: Neutron chooses the others.
const (
	FloatingWeb = "198.51.100.11" // of server web
	Forwarding  = "198.51.100.12" // its tcp 8080 is forwarded to tcp 9090 of server db
	Router      = "198.51.100.10" // of router edge
	Gateway     = "198.51.100.1"  // of the provider network
)

// project owns the objects.
const project = "0c2f6d1f5d7e4b0c9a3e8f1b2d4c6a80"

type object = map[string]any

// call sends a request to the API and decodes the reply.
func (s *server) call(ctx context.Context, method, path string, body, reply any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:9696/v2.0/"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: s.dial}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(answer, reply)
}

// dial connects from inside the central host.
func (s *server) dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = s.lab.InNamespace(central, func() error {
		var d net.Dialer
		c, err = d.DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// A writer makes objects until one fails.
type writer struct {
	*server
	ctx context.Context
	err error
}

// make makes an object of a collection and returns its id.
func (w *writer) make(collection, kind string, fields object, into any) string {
	if w.err != nil {
		return ""
	}
	fields["project_id"] = project
	var reply map[string]json.RawMessage
	if w.err = w.call(w.ctx, "POST", collection, object{kind: fields}, &reply); w.err != nil {
		return ""
	}
	var made struct{ ID string }
	w.err = json.Unmarshal(reply[kind], &made)
	if w.err == nil && into != nil {
		w.err = json.Unmarshal(reply[kind], into)
	}
	return made.ID
}

// put sends a request that changes an object.
func (w *writer) put(path string, body object) {
	if w.err == nil {
		w.err = w.call(w.ctx, "PUT", path, body, nil)
	}
}

// create makes the objects: a provider network with a gateway beyond it, two networks behind a router, servers on both nodes,
// two security groups, a floating IP and a port forwarding.
func (s *server) create(ctx context.Context) error {
	w := &writer{server: s, ctx: ctx}
	public := w.make("networks", "network", object{"name": "public", "router:external": true, "provider:network_type": "flat", "provider:physical_network": "physnet"}, nil)
	outside := w.make("subnets", "subnet", object{
		"name": "public", "network_id": public, "ip_version": 4, "cidr": "198.51.100.0/24", "gateway_ip": Gateway, "enable_dhcp": false,
		"allocation_pools": []object{{"start": "198.51.100.10", "end": "198.51.100.99"}},
	}, nil)
	edge := w.make("routers", "router", object{"name": "edge", "external_gateway_info": object{
		"network_id": public, "enable_snat": true, "external_fixed_ips": []object{{"subnet_id": outside, "ip_address": Router}},
	}}, nil)
	private, backend := w.network(edge, "private", 1), w.network(edge, "backend", 2)
	frontGroup := w.make("security-groups", "security_group", object{"name": "front"}, nil)
	backGroup := w.make("security-groups", "security_group", object{"name": "back"}, nil)
	w.rule(frontGroup, object{"protocol": "tcp", "port_range_min": 8080, "port_range_max": 8080})
	w.rule(frontGroup, object{"protocol": "icmp"})
	w.rule(frontGroup, object{"protocol": "tcp", "port_range_min": 8080, "port_range_max": 8080, "ethertype": "IPv6"})
	w.rule(backGroup, object{"protocol": "tcp", "port_range_min": 9090, "port_range_max": 9090})
	w.rule(backGroup, object{"protocol": "icmp", "remote_group_id": frontGroup})
	web := w.newServer("web", "node1", private, frontGroup)
	db := w.newServer("db", "node2", private, backGroup)
	w.newServer("batch", "node1", backend, backGroup)
	w.newServer("store", "node2", backend, frontGroup)
	w.make("floatingips", "floatingip", object{"floating_network_id": public, "floating_ip_address": FloatingWeb, "port_id": web.ID}, nil)
	shared := w.make("floatingips", "floatingip", object{"floating_network_id": public, "floating_ip_address": Forwarding}, nil)
	w.forward(shared, db)
	return w.err
}

// network makes a network with an IPv4 and an IPv6 subnet on the router.
func (w *writer) network(router, name string, number int) string {
	id := w.make("networks", "network", object{"name": name}, nil)
	for _, subnet := range []object{
		{"name": name + "-4", "network_id": id, "ip_version": 4, "cidr": fmt.Sprintf("10.1.%d.0/24", number)},
		{"name": name + "-6", "network_id": id, "ip_version": 6, "cidr": fmt.Sprintf("fd00:10:1:%d::/64", number), "ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"},
	} {
		w.put("routers/"+router+"/add_router_interface", object{"subnet_id": w.make("subnets", "subnet", subnet, nil)})
	}
	return id
}

// rule admits something into a security group, from anywhere unless it says otherwise.
func (w *writer) rule(group string, fields object) {
	fields["security_group_id"], fields["direction"] = group, "ingress"
	w.make("security-group-rules", "security_group_rule", fields, nil)
}

// newServer makes a server's port, bound as Nova asks for it.
func (w *writer) newServer(name, node, network, group string) port {
	var p port
	w.make("ports", "port", object{
		"name": name, "network_id": network, "binding:host_id": node, "binding:vnic_type": "normal", "device_owner": "compute:nova",
		"device_id": fmt.Sprintf("7c1f0e52-8d3a-4b6e-9f10-%012d", len(w.servers)+1), "security_groups": []string{group},
	}, &p)
	w.servers = append(w.servers, p)
	return p
}

// forward forwards a port of a floating IP to a server.
func (w *writer) forward(floating string, to port) {
	if w.err != nil {
		return
	}
	var made struct {
		Port struct {
			Addresses []struct {
				IP string `json:"ip_address"`
			} `json:"fixed_ips"`
		}
	}
	if w.err = w.call(w.ctx, "GET", "ports/"+to.ID, nil, &made); w.err != nil {
		return
	}
	for _, a := range made.Port.Addresses {
		if ip := net.ParseIP(a.IP); ip.To4() != nil && w.err == nil {
			w.err = w.call(w.ctx, "POST", "floatingips/"+floating+"/port_forwardings", object{"port_forwarding": object{
				"external_port": 8080, "internal_port": 9090, "protocol": "tcp", "internal_port_id": to.ID, "internal_ip_address": a.IP,
			}}, nil)
		}
	}
}
