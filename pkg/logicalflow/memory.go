package logicalflow

import "sync"

// memory keeps what was asked for: a packet asks for the same again and again.
type memory struct {
	learned, fdb, balancers, dns, variables, portGroups, addressSets sync.Map
}

// recall returns what a map holds under a key, and asks for it if there is nothing yet. Errors are not kept.
func recall[K comparable, V any](known *sync.Map, key K, ask func() (V, error)) (V, error) {
	if v, ok := known.Load(key); ok {
		return v.(V), nil
	}
	v, err := ask()
	if err != nil {
		return v, err
	}
	kept, _ := known.LoadOrStore(key, v)
	return kept.(V), nil
}
