//go:build !linux

package node

import "context"

const notLinux = "the network of this host can be read on Linux only; use --node-exec or --offline"

func (l *local) Network(context.Context) (*Network, error) { return nil, unavailable(notLinux) }

func (l *local) Route(context.Context, RouteQuery) (*Route, error) { return nil, unavailable(notLinux) }

func (l *local) Pod(ctx context.Context, link string) (*PodNet, error) { return l.pod(ctx, link) }

func (l *local) pod(context.Context, string) (*PodNet, error) { return nil, unavailable(notLinux) }

func (l *local) change(func(NetworkWriter) error) error { return unavailable(notLinux) }

func (l *local) Firewall(context.Context) ([]Chain, error) { return nil, unavailable(notLinux) }

func (l *local) Sockets(context.Context) ([]Socket, error) { return nil, unavailable(notLinux) }
