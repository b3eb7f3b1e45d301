// Package controller checks ovn-controller: whether it runs, follows the Southbound, and binds its node's ports.
package controller
