# xprof-rs: one command for each thing a person does. `make help` lists them.

PORT   ?= 8791
LOGDIR ?= demo
TARGET := x86_64-unknown-linux-gnu
BINARY := target/release/xprof-rs
STATIC := target/$(TARGET)/release/xprof-rs

.DEFAULT_GOAL := help
.PHONY: help serve ui build test check static browser clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

ui: ## fetch XProf's prebuilt interface into ui/dist (checked against ui/manifest)
	@python3 tools/fetch_ui.py

build: ui ## the release binary with the interface inside: target/release/xprof-rs
	cargo build --release --locked

serve: build ## build, then serve LOGDIR (the demo) on 127.0.0.1:PORT (8791)
	@exec $(BINARY) --logdir $(LOGDIR) --port $(PORT)

test: ui ## everything that needs no browser
	@if cargo nextest --version >/dev/null 2>&1; \
	then cargo nextest run --locked --status-level fail --final-status-level fail && cargo test --locked --doc --quiet; \
	else cargo test --locked --quiet; fi
	@python3 -B -W error -m unittest discover --start-directory tests/tools --quiet

check: ## formatting, lints, and that the fuzzers still fit
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir target --quiet

# The flags stand here and not in .cargo/config.toml so that an ordinary build stays an ordinary build. The target is named
# because flags given without one also reach procedural macros, which cannot be static. Packed relocations, no unwind tables
# (the release profile aborts) and equal functions kept once (by lld, Rust's linker here) keep it under 10 MB, beside the less
# inlining that every build has. RUSTFLAGS from outside would replace ours.
static: ui ## a static binary, checked: target/x86_64-unknown-linux-gnu/release/xprof-rs
	env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-C target-feature=+crt-static -C force-unwind-tables=no -C link-arg=-Wl,-z,pack-relative-relocs -C link-arg=-Wl,--icf=all -C link-arg=-Wl,--no-eh-frame-hdr -C link-arg=-Wl,-T,$(CURDIR)/tools/no_unwind.ld' \
		cargo build --release --locked --target $(TARGET)
	tools/check_static.sh $(STATIC) $(LOGDIR)

browser: build ## the interface in headless Chromium (needs node, npm and chromium)
	cd tests/browser && npm ci --silent --no-audit --no-fund && node trace_viewer.mjs ../../$(BINARY) ../../$(LOGDIR) && \
	node graph_viewer.mjs ../../$(BINARY) ../../$(LOGDIR) && node report.mjs ../../$(BINARY) ../../$(LOGDIR)

clean: ## what was built and fetched
	cargo clean
	rm -rf ui/dist tests/browser/node_modules
