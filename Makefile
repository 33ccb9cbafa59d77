# Everything a fresh Debian or Ubuntu machine needs is installed by the first target that needs it.
PYTHON ?= python3
BIN := .venv/bin
APT := systemd-container mmdebstrap nftables slirp4netns iproute2 openssh-client debian-archive-keyring python3-venv git

# Emulated machines with kernels of their own, for what this one lacks.
VM_APT := qemu-system-x86 qemu-utils e2fsprogs

.PHONY: demo test test-all test-vm check format docs clean root

demo: .venv/installed
	@$(BIN)/corral up --local 3
	@echo && $(BIN)/corral status
	@echo && $(BIN)/corral run --no-folder --nodes 3 sh -c 'echo $$(hostname) has GPU $$CUDA_VISIBLE_DEVICES'
	@echo && cd examples && ../$(BIN)/corral sweep --gpus 0 --grid lr=0.003,0.03 --grid act=relu,tanh fit_curve.py
	@echo && echo "Try next: $(BIN)/corral sweep results --plot, $(BIN)/corral jobs, and $(BIN)/corral down when done"

# Tests on real machines mostly wait, so two files of them run at a time.
test: check .venv/torch
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Kernel NFS, its faults and wrong clocks on emulated machines: 30 minutes on a busy two-core machine, 3 more for the image.
test-vm: .venv/installed
	@dpkg-query -W -f '' $(VM_APT) 2>/dev/null || { echo "installing packages: $(VM_APT)"; \
	  DEBIAN_FRONTEND=noninteractive apt-get -y -qq --no-install-recommends install $(VM_APT) >/dev/null; }
	$(BIN)/python -m pytest tests/vm

# Also what takes minutes each, such as upgrades between two Slurm releases.
test-all: check .venv/torch
	$(BIN)/python -m pytest -m ""

check: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/installed
	$(BIN)/python -m corral.checks.troubleshooting > docs/troubleshooting.md

# For the tests of training jobs; where the package index has a CPU build of this version, that is enough.
.venv/torch: .venv/installed
	@echo "installing PyTorch into .venv"
	@$(BIN)/pip install -q --disable-pip-version-check torch==2.13.0 numpy
	@touch $@

# Local clusters are taken down by `corral down`; this removes what the targets above installed in this folder.
clean:
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

root:
	@[ "$$(id -u)" = 0 ] || { echo "Corral's local machines need root. Try: sudo make $(MAKECMDGOALS)" >&2; exit 1; }

.venv/installed: requirements.lock pyproject.toml | root
	@dpkg-query -W -f '' $(APT) 2>/dev/null || { echo "installing packages: $(APT)"; \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -y -qq --no-install-recommends install $(APT) >/dev/null; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@echo "installing Python packages into .venv (pinned by requirements.lock)"
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
