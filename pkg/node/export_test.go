package node

// MaxIdle is maxIdle, for the tests outside the package.
const MaxIdle = maxIdle
