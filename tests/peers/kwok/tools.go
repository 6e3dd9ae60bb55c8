//go:build tools

// Package tools pins the programs that the tests run as real peers; nothing here is linked into Foresail.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
