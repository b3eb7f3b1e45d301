package ovsdb

import (
	"context"
)

// seek tries the remotes one after another.
func (c *Client) seek(ctx context.Context, avoid *session, leader bool) (*session, error) {
	var first error
	for _, r := range c.remotes {
		s, err := c.open(ctx, r)
		if err == nil {
			return s, nil
		}
		if first == nil {
			first = c.error(r.text, err)
		}
	}
	return nil, first
}
