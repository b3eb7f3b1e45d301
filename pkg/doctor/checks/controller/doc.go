// Package controller checks ovn-controller: whether it runs, follows the Southbound, and binds the ports of its node.
package controller
