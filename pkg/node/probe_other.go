//go:build !linux

package node

import "context"

func (l *local) Listen(context.Context, Watch, func(Frame)) (*Listening, error) {
	return nil, unavailable(notLinux)
}

func (l *local) Send(context.Context, Sending) error { return unavailable(notLinux) }
