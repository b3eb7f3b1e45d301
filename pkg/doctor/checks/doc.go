// Package checks lists all checks of doctor, and selects those to run.
//
// Each check is a file named after it in the package of its subject. To add one, write its file and its page
// docs/checks/NAME.md, and add it to [All].
package checks
