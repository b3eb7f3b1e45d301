// Package catalog is the catalogue of repairs: each says, from what is there now,
// which steps remove one kind of fault. It changes nothing; pkg/fixes carries plans
// out.
//
// One file each, named after the repair.
package catalog
