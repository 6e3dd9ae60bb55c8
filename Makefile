# The verbs of this repository. Build products and the real programs that the tests run against live
# in a cache outside the tree, so that a second run, also from a fresh clone, costs seconds.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(FORESAIL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/foresail)
export FORESAIL_CACHE := $(CACHE)
export CARGO_TARGET_DIR ?= $(CACHE)/target
export FORESAIL_SKIP_LOG := $(CARGO_TARGET_DIR)/skipped-tests.txt
# Runs after the others: it lives in real time, and a busy machine would be late. Its lines show progress.
E2E := cargo test --package tests --test it -- --nocapture a_day_on_real_programs
# How long a day takes in the demo.
FOR ?= 60s
# Warnings are errors here and in CI; plain cargo lets half-finished work compile.
CLIPPY := cargo clippy --workspace --all-targets --quiet -- -D warnings

.PHONY: help demo check test e2e bench generate peers packages deny

help: ## Lists the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: ## A day of decisions on simulated GPUs in a minute (FOR=60s); needs no cluster and no GPU
	@echo "foresail: building (the first time takes some minutes on two cores)" >&2
	@cargo build --package autoscaler-cli
	@"$(CARGO_TARGET_DIR)/debug/foresail" demo --for $(FOR)

check: ## Format, lints, and every test that needs no other program
	cargo fmt --all --check
	$(CLIPPY)
	cargo build --quiet --package tests-nvml
	cargo test --quiet --workspace --exclude tests
	cargo test --quiet --package tests -- tidy:: docs::

test: peers packages deny ## Everything: builds the real peers (once), then runs every test
	cargo fmt --all --check
	$(CLIPPY)
	@mkdir -p "$(CARGO_TARGET_DIR)" && : > "$(FORESAIL_SKIP_LOG)"
	cargo build --workspace --bins
	cargo build --package tests-nvml
	cargo test --workspace -- --skip a_day_on_real_programs
	$(E2E)
	@tests/skips.sh "$(FORESAIL_SKIP_LOG)" tests/skips.txt

e2e: peers ## The whole path on real programs, in real time: about 20 minutes, alone on the machine
	cargo build --workspace --bins
	$(E2E)

bench: ## Benchmarks, as ratios within one run; installs the exporters to compare with (once)
	cargo bench --package autoscaler-core --bench ratios
	@tests/peers/exporters.sh
	cargo build --release --package tests-nvml
	cargo bench --package exporter-agent --bench exporters

generate: ## Writes what is generated: definitions, reference pages, the charts' copies of rules
	cargo run --quiet --package autoscaler-api --bin crdgen > charts/foresail-autoscaler/crds/.next
	mv charts/foresail-autoscaler/crds/.next charts/foresail-autoscaler/crds/inferencescalers.yaml
	UPDATE_GOLDEN=1 cargo test --quiet --package exporter-core
	cp alerts/recording.yaml alerts/exporter.yaml alerts/absent.yaml dashboards/foresail.json charts/foresail-exporter/files/
	cp alerts/autoscaler.yaml dashboards/foresail.json charts/foresail-autoscaler/files/

peers: packages
	@tests/peers/build.sh
	@tests/peers/servers.sh

# What Debian provides is installed when that is possible, else named.
packages:
	@tests/packages.sh

deny: ## Licences, sources and duplicates of the dependencies
	@tests/deny.sh
