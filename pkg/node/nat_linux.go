package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"github.com/vishvananda/netlink"
)

func (l *local) NAT(ctx context.Context) (rules []NATRule, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	err = l.inside(func(*netlink.Handle) error {
		rules, err = readNAT(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("address translation of %s: %w", l.Name(), err)
	}
	return rules, nil
}

func readNAT(ctx context.Context) ([]NATRule, error) {
	out, err := run(ctx, "nft", "-a", "list", "ruleset")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, unavailable("nft is not installed here, install nftables")
	}
	if err != nil {
		return nil, err
	}
	rules := parseNFT(string(out))
	for _, t := range legacyTables {
		names, err := readBounded(t.names, 4096)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !hasLine(string(names), "nat") {
			continue
		}
		if err == nil {
			out, err = run(ctx, t.save, "-t", "nat")
		}
		if err != nil {
			return nil, fmt.Errorf("there are %s rules that nft does not show: %w", t.family, err)
		}
		rules = append(rules, parseIptables(t.family, string(out))...)
	}
	return rules, nil
}
