PYTHON ?= python3
# Every Python that is named has an environment of its own.
SUFFIX := $(if $(filter python3,$(PYTHON)),,-$(subst /,-,$(patsubst /%,%,$(PYTHON))))
VENV := .venv$(SUFFIX)
BIN := $(VENV)/bin
STAMPS := .setup$(SUFFIX)
# Not worth compiling beforehand: nobody here imports it, or it runs compiled to machine code.
SELDOM_IMPORTED := /(ccxt|mypy|mypyc|pip|pkg_resources|setuptools|SelfTest|tests)/

# Workers and children share what is compiled: without that each compiles every test itself.
unexport PYTHONDONTWRITEBYTECODE

NATS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zuno/bin/nats-server

.PHONY: run test tests nats-where-go-is quick pure check bench soak mutants screenshots nats-server sbom setup tools world token-list lock clean

run: setup world  ## open the demo
	$(BIN)/zuno demo

test: tools  ## every check there is; types are checked beside the first tests
	$(MAKE) --jobs=2 check tests

# Two workers more than the two cores this is meant for: tests also wait for clocks and for others.
# Files go out in the order of tests/conftest.py, the long ones first. What hangs is ended and named.
# To write every assertion anew, so that it tells its values, takes a new clone half a minute: what
# failed alone is run again that way.
tests: tools nats-where-go-is
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --timeout 1800 --timeout-method thread --assert plain || { $(BIN)/pytest --last-failed --last-failed-no-failures none; exit 1; }

quick: tools  ## the inner loop: lint, types, import contracts and the tests that start nothing
	$(MAKE) --jobs=2 check pure

pure: tools
	$(BIN)/pytest -m pure -n 2 --dist loadfile --quiet

check: tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --no-cache --config tools/imports_at_run.toml

bench: tools world  ## ratios against named baselines, measured in this run
	$(BIN)/python -m benchmarks

soak: tools  ## the large counts, in slices that finish
	$(BIN)/pytest -m soak

mutants: tools  ## lines changed on purpose, in a seeded sample, and which of them the tests notice
	$(BIN)/python -m tools.mutants

screenshots: tools world  ## the README's pictures, taken from the running commands
	$(BIN)/python -m tools.screen_pictures

# Without it the tests that need it are skipped, each with its reason.
nats-where-go-is:
	@if command -v go >/dev/null && [ ! -x "$(NATS)" ]; then $(MAKE) nats-server || echo "nats-server could not be built: tests that need it are skipped"; fi

nats-server:  ## a real NATS server for the tests of the mesh, in the cache; a minute with Go
	GOBIN=$(dir $(NATS)) go install github.com/nats-io/nats-server/v2@v2.15.2

sbom: tools  ## the software bill of materials, CycloneDX, from the lock files alone
	$(BIN)/python -m tools.release.sbom dist/zuno-tui.cdx.json

setup: $(STAMPS)/packages $(STAMPS)/node  ## what running needs
tools: setup $(STAMPS)/tools  ## what tests and checks need besides

# uv takes a tenth of pip's time. pip brings it, and does the work itself where uv cannot.
UV = $(or $(shell command -v uv),$(BIN)/uv)
install = UV_SYSTEM_CERTS=1 $(UV) pip install --quiet --python $(BIN)/python $(1) || $(BIN)/pip install --quiet --no-compile $(1)

# What is imported is compiled when it is imported: of what is installed, that is the smaller part.
$(STAMPS)/packages: requirements.lock requirements-uv.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed. Install it, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@mkdir -p $(STAMPS)
	$(PYTHON) -m venv $(VENV)
	command -v uv >/dev/null || $(BIN)/pip install --quiet --no-compile --require-hashes -r requirements-uv.lock || true
	$(BIN)/python -m tools.release.run_lock > $(STAMPS)/run.lock
	$(call install,--require-hashes -r $(STAMPS)/run.lock)
	$(call install,--no-deps --no-build-isolation --editable .)
	@touch $@

# Workers that start at once would all compile the same.
$(STAMPS)/tools: $(STAMPS)/packages
	$(call install,--require-hashes -r requirements.lock)
	$(BIN)/python -m compileall -q -j 0 -x "$(SELDOM_IMPORTED)" $(VENV)/lib zuno_tui agents chain || true
	@touch $@

$(STAMPS)/node: $(STAMPS)/packages chain/devnet/npm.lock.json
	$(BIN)/python -m chain.devnet.set_up
	@touch $@

world: setup  ## the demo's week of market history, written once per seed
	$(BIN)/zuno devnet --build-only

token-list: setup  ## pin Uniswap's default token list: make token-list VERSION=22.21.0
	$(BIN)/python -m tools.release.token_list $(VERSION)

lock: setup  ## resolve pyproject.toml into requirements.lock; UPGRADE=--upgrade takes newer versions
	$(UV) pip compile pyproject.toml --extra dev --extra acp --extra charts --extra ledger --extra mcp --extra mesh --extra serve --extra trade --universal --python-version 3.11 --generate-hashes --no-header --quiet $(UPGRADE) --output-file requirements.lock

clean:
	rm -rf .venv .venv-* .setup .setup-* .mypy_cache .ruff_cache .pytest_cache
