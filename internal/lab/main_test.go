package lab

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// ownerVariable makes the test binary bring a lab up in that directory and keep it until it is killed.
const ownerVariable = "LAB_TEST_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerVariable); dir != "" {
		if _, err := Up(context.Background(), OVNKubernetes(), Options{Dir: dir}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("up")
		select {}
	}
	os.Exit(m.Run())
}
