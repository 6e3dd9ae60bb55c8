//go:build tools

// Package tools pins the programs that the tests run as real peers; nothing here is linked into Foresail.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
