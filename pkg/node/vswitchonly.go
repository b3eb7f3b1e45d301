package node

import (
	"context"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

type vswitchOnly struct {
	unreachable
	config ovsdb.Config
}

// VswitchOnly is a host of which only the Open_vSwitch database can be reached,
// over the network.
func VswitchOnly(name, remotes string, tls ovsdb.TLSFiles, timeout time.Duration) Host {
	err := fmt.Errorf("only its Open_vSwitch is reached, at %s; run there, or give --via ssh or --node-exec: %w", remotes, ErrUnavailable)
	return vswitchOnly{unreachable{name, err}, ovsdb.Config{DB: "Open_vSwitch", Remotes: remotes, TLS: tls, Timeout: timeout}}
}

func (v vswitchOnly) Origin() string { return v.config.Remotes }

func (v vswitchOnly) Vswitch(ctx context.Context) (ovsdb.Reader, error) {
	db, err := ovsdb.Dial(ctx, v.config)
	if err != nil {
		return nil, err
	}
	return db, nil
}
