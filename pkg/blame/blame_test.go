package blame

import (
	"errors"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers string // one for each moment
		grid    int
		want    []int
	}{
		{"no moment", "", 4, nil},
		{"one moment", "a", 4, nil},
		{"the same", "aaaaaaaaaaaaaaaa", 4, nil},
		{"once", "aaaaaaabbbbbbbbb", 1, []int{7}},
		{"at the second", "abbbbbbbbbbbbbbb", 1, []int{1}},
		{"at the last", "aaaaaaaaaaaaaaab", 1, []int{15}},
		{"there and back, seen by the grid", "aaaaaabbbbaaaaaa", 4, []int{6, 10}},
		{"there and back, between the grid", "aaaaaaaaabaaaaaa", 4, nil},
		{"at every moment", "abababab", 8, []int{1, 2, 3, 4, 5, 6, 7}},
		{"to a third", "aaaabbbbbbcccccc", 1, []int{4, 10}},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := map[int]int{}
			got, n, err := Find(len(test.answers), test.grid, func(i int) (byte, error) {
				asked[i]++
				return test.answers[i], nil
			})
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("changes at %v, %v; want %v", got, err, test.want)
			}
			if n != len(asked) {
				t.Errorf("asked at %d moments, says %d", len(asked), n)
			}
			for i, times := range asked {
				if times > 1 {
					t.Errorf("asked %d times at %d", times, i)
				}
			}
		})
	}
	// The fewest that one change among a million takes.
	_, asked, err := Find(1_000_000, 1, func(i int) (bool, error) { return i >= 314_159, nil })
	if err != nil || asked > 22 {
		t.Errorf("asked at %d of a million moments, %v", asked, err)
	}
	if _, _, err := Find(10, 2, func(i int) (int, error) { return i, errors.New("closed") }); err == nil {
		t.Error("an error is lost")
	}
}
