package node

// Again returns h without its cached reads, for a second sample. Its replies are not recorded.
func Again(h Host) Host {
	switch h := h.(type) {
	case *recorder:
		return Again(h.Host)
	case *remote:
		return &remote{RemoteConfig: h.RemoteConfig, shells: h.shells}
	}
	return h
}

// Close ends what a host keeps open between requests: the shells on another node.
func Close(h Host) {
	switch h := h.(type) {
	case *recorder:
		Close(h.Host)
	case *remote:
		h.shells.close()
	}
}
