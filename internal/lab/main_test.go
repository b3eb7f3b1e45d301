//go:build lab

package lab

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// ownerVariable makes the test binary bring a lab up in that directory and keep it until it is killed; detachVariable makes
// it leave the lab behind.
const (
	ownerVariable  = "LAB_TEST_OWNER"
	detachVariable = "LAB_TEST_DETACH"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerVariable); dir != "" {
		detach := os.Getenv(detachVariable) != ""
		if _, err := Up(context.Background(), OVNKubernetes(), Options{Dir: dir, Detach: detach}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("up")
		if detach {
			os.Exit(0)
		}
		select {}
	}
	os.Exit(m.Run())
}
