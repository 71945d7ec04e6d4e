# `make` lists the targets. Each sets up what it needs, once.

STACK ?= aws-dev
# Processes of `make test`: one more than two cores, because tests with machines and engines also wait.
JOBS ?= 3
# Processes of `make lab` and `make soak`: a booted cluster needs a core.
LAB_JOBS ?= 2
# Seconds after which a test of `make test` or `make lab` counts as hung, and fails with each thread's stack. They include
# its set-up, in which a cluster boots.
HUNG ?= 900
# Kubernetes version that `make demo` boots, instead of the version in STACK's file.
DEMO_KUBERNETES ?= 1.37.1
# Kubernetes versions whose real programs `make lab` and `make soak` run.
LAB_VERSIONS ?= 1.37.1 1.24.17
SOAK_VERSIONS ?= 1.20.15 1.24.17 1.29.6 1.31.4 1.34.4 1.37.1
# Extra arguments for the program of a target: make test ARGS="-k naming", make lock ARGS=--upgrade
ARGS ?=
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	"$$p" -c "import sys; sys.exit(sys.version_info < (3, 10))" 2>/dev/null && { echo "$$p"; break; }; done)
COMPILE = .venv/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes \
	--custom-compile-command "make lock" $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help venv engine compiled machines up down demo stop portal test windows languages lab soak lint audit format bench generate lock clean

help: ## List the targets
	@awk -F ":.*## " '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

up: engine ## Build STACK (aws-dev) in the embedded sandbox cloud
	@.venv/bin/mullion up $(STACK) --sandbox --yes $(ARGS)

down: engine ## Remove STACK from the sandbox cloud
	@.venv/bin/mullion down $(STACK) --sandbox --yes $(ARGS)

# Without compiled code each command takes 0.1 s longer. Tests run hundreds of commands, in copies of the clone.
up test lab soak bench: export PYTHONDONTWRITEBYTECODE =
up test lab soak bench: compiled

demo: engine machines ## Build STACK in the sandbox, boot its machines and verify the cluster (make stop removes it)
	@.venv/bin/python -m operations.stacks.boot_overlay $(STACK)
	@echo "The first time this builds the programs of Kubernetes $(DEMO_KUBERNETES): 20 to 60 minutes on two cores."
	@.venv/bin/python -m lab cluster $(DEMO_KUBERNETES)
	@.venv/bin/mullion up $(STACK) --sandbox --yes --bootable --kubernetes $(DEMO_KUBERNETES)
	@.venv/bin/mullion sandbox boot $(STACK)
	@.venv/bin/mullion verify $(STACK)
	@echo "The cluster keeps running. To remove it: make stop"

stop: venv ## Remove the cluster of make demo
	@.venv/bin/mullion down $(STACK) --sandbox --yes

portal: engine ## Start the self-service portal with a demo team; its clusters are built in the sandbox
	@.venv/bin/mullion portal $(ARGS)

test: engine ## Run the tests
	.venv/bin/python -m pytest -n $(JOBS) --timeout $(HUNG) --dist loadfile --no-loadscope-reorder -m "not lab and not soak and not live" $(ARGS)

windows: engine machines ## Run all tests with Windows machines, of which make test draws a third
	.venv/bin/python -m pytest -n $(JOBS) --timeout $(HUNG) --dist loadfile --no-loadscope-reorder -m "windows and not lab" tests $(ARGS)

languages: engine ## Run the example programs in other languages in the sandbox; needs npm, go and mvn
	.venv/bin/python -m tools.go_programs
	.venv/bin/python -m pytest -m "" tests/engine/test_languages.py $(ARGS)

compiled: venv
	@.venv/bin/python -m compileall -q components lab operations policies portal sandbox

machines: venv ## Set up machines for tests: Linux (root on Debian), Windows if MULLION_WINPWSH is set
	@.venv/bin/python -m lab.linuxnode setup
	@if [ -n "$$MULLION_WINPWSH" ]; then "$$MULLION_WINPWSH" setup && .venv/bin/python -m lab.hns.dlls; fi

lab: engine ## Test with real Kubernetes programs (LAB_VERSIONS), which are built once
	@for what in build join cluster; do .venv/bin/python -m lab $$what $(LAB_VERSIONS) || exit 1; done
	MULLION_LAB_VERSIONS="$(LAB_VERSIONS)" .venv/bin/python -m pytest -n $(LAB_JOBS) --timeout $(HUNG) --dist loadfile --no-loadscope-reorder -m "lab and not soak" $(ARGS)

soak: engine ## Test every cut, chaos and the programs of all SOAK_VERSIONS; takes hours
	-@for what in build join cluster before controllers storage monitoring; do .venv/bin/python -m lab $$what $(SOAK_VERSIONS); done
	MULLION_LAB_VERSIONS="$(SOAK_VERSIONS)" .venv/bin/python -m pytest -n $(LAB_JOBS) -m "soak or lab" $(ARGS)

lint: venv ## Check format, style, types, security rules and the files of CI
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/bandit --quiet --configfile pyproject.toml -r __main__.py cloud-init ci components lab operations policies portal sandbox tools
	.venv/bin/pyright --pythonpath .venv/bin/python
	.venv/bin/python -m tools.pipeline_lint

audit: venv ## Look up published advisories about packages and the engine (needs network access)
	.venv/bin/python -m tools.audit

format: venv ## Fix format and style as far as possible
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench: engine ## Measure speed; one process at a time
	.venv/bin/python -m tools.bench
	.venv/bin/python -m tools.bench.state_cost 50 500
	.venv/bin/python -m tests.windows_plans.bench

generate: venv ## Write generated files (schemas, pages, argument types, goldens)
	.venv/bin/python tools/generate.py

lock: venv ## Resolve requirements.lock, components/ and portal/requirements.txt, tools/go.lock and tools/audit.lock (needs network access)
	$(COMPILE) pyproject.toml --extra portal --group dev -o requirements.lock
	$(COMPILE) components/requirements.in -c requirements.lock -o components/requirements.txt
	$(COMPILE) pyproject.toml --extra portal -c requirements.lock -o portal/requirements.txt
	$(COMPILE) --group pyproject.toml:go -o tools/go.lock
	$(COMPILE) --group pyproject.toml:audit -c requirements.lock -o tools/audit.lock

clean: ## Remove .venv and caches of this clone; clusters, their state and the engine stay
	@for memory in .mullion/*/world.json; do test ! -e "$$memory" || { stack=$$(basename "$$(dirname "$$memory")"); \
		flag=$$(grep -q sandbox "$$memory" && echo " --sandbox"); \
		echo "stack $$stack is still built; after make venv: mullion down $$stack$$flag"; }; done
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis mullion.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

engine: venv ## Find the Pulumi engine, or build it once
	@.venv/bin/python -m operations.engine.locate

venv: ## Set up .venv
	@test -n "$(PYTHON)" || { echo "mullion: no Python 3.10 or newer on PATH; install one, or: make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" tools/setup.py
