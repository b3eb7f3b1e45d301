package logicalflow

import "sync"

// memory caches lookups: a packet repeats the same ones.
type memory struct {
	learned, fdb, balancers, dns, variables, portGroups, addressSets sync.Map
}

// recall returns a map's value for a key, and asks for it if missing. Errors are not cached.
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
