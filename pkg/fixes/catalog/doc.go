// Package catalog is the catalogue of repairs: each determines, from the current state, which steps remove one kind of
// fault. It changes nothing; pkg/fixes carries plans out.
//
// Each file is named after its repair.
package catalog
