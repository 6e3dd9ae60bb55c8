//go:build tools

// Package tools pins the programs that the tests run as real peers; nothing here is linked into Foresail.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
