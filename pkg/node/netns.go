package node

import "sync"

// A netnsFile identifies a network namespace by its file. The file is opened only when needed; the numbers show
// when it has come to refer to another namespace. The zero value is our own.
type netnsFile struct {
	path, name string
	dev, ino   uint64
}

// netnsFiles are the namespaces found so far.
type netnsFiles struct {
	sync.Mutex
	host  netnsFile
	peers map[int]netnsFile // by the host namespace's number
}
