package node

// Again is a host for a second look: it reads anew what h has read before. What
// it answers is not recorded.
func Again(h Host) Host {
	switch h := h.(type) {
	case *recorder:
		return Again(h.Host)
	case *remote:
		return &remote{RemoteConfig: h.RemoteConfig, words: h.words, shells: h.shells}
	}
	return h
}

// Close ends what is kept open between questions to a host: the shells on another
// node.
func Close(h Host) {
	switch h := h.(type) {
	case *recorder:
		Close(h.Host)
	case *remote:
		h.shells.close()
	}
}
