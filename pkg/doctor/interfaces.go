package doctor

import "github.com/ovnctl/ovnctl/pkg/snapshot"

// kernelDevice says that an interface stands for a device that the kernel should have.
func KernelDevice(p snapshot.Plug) bool { return p.Type == "" || p.Type == "system" }

func InterfaceObject(h *snapshot.Host, p snapshot.Plug) Object {
	return Object{Kind: "interface", Name: p.Name, Node: h.Name}
}

// portObjects is the logical port of an interface, if it names one.
func PortObjects(p snapshot.Plug) []Object {
	if id := p.ExternalIDs["iface-id"]; id != "" {
		return []Object{{Kind: "port", Name: id}}
	}
	return nil
}
