package node

import (
	"net"
	"slices"
	"testing"
)

// sock_diag(7) lists the sockets that /proc/net/tcp lists, in both families.
func TestListeners(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		own := Socket{"tcp", l.Addr().(*net.TCPAddr).AddrPort()}
		for name, list := range map[string]func() ([]Socket, error){"sock_diag": listeners, "/proc": procListeners} {
			got, err := list()
			if err != nil || !slices.Contains(got, own) {
				t.Errorf("%s: %v: %v lacks %v", name, err, got, own)
			}
		}
	}
}

func procListeners() ([]Socket, error) {
	var list []Socket
	for _, table := range socketTables[:2] {
		text, err := readProc("/proc/thread-self/net/"+table.name, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, parseSockets(string(text), table.protocol, table.state)...)
	}
	return list, nil
}
