package node

import "sync"

// A netnsFile is a network namespace by the file that stands for it. It is
// opened when needed, so that nothing stays open; the numbers tell when the
// file has come to stand for another. The zero value is the one we are in.
type netnsFile struct {
	path, name string
	dev, ino   uint64
}

// netnsFiles are the namespaces that were found so far.
type netnsFiles struct {
	sync.Mutex
	host  netnsFile
	peers map[int]netnsFile // by the number that the host's gives them
}
