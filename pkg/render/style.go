package render

// Style says what a stream can show. It is decided once per stream by the
// command, never by the renderers and never from another stream.
type Style struct {
	Color bool // escape sequences may be written
	Width int  // columns to lay out for; 0 means unlimited, as for a pipe
	ASCII bool // the stream cannot show UTF-8: draw with ASCII only
}
