package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func (l *local) Firewall(ctx context.Context) (chains []Chain, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	err = l.inside(func() error {
		chains, err = readFirewall(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packet filter of %s: %w", l.Name(), err)
	}
	return chains, nil
}

// noTables reports whether nftables has no table in the thread's namespace, as in most pods: then nft need not run.
func noTables() bool {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETTABLE, unix.NLM_F_DUMP)
	req.AddRawData([]byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0}) // struct nfgenmsg
	tables, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	return err == nil && len(tables) == 0
}

func readFirewall(ctx context.Context) ([]Chain, error) {
	var out []byte
	var err error
	if !noTables() {
		out, err = run(ctx, "nft", "-a", "list", "ruleset")
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, unavailable("nft is not installed here, install nftables")
	}
	if err != nil {
		return nil, err
	}
	chains := parseNFT(string(out))
	for _, t := range legacyTables {
		names, err := readBounded(t.names, 4096)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(names)) == 0 {
			continue
		}
		if err == nil {
			out, err = run(ctx, t.save, "-c")
		}
		if err != nil {
			return nil, fmt.Errorf("there are %s rules that nft does not show: %w", t.family, err)
		}
		chains = append(chains, parseIptables(t.family, string(out))...)
	}
	return chains, nil
}
