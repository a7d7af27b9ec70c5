# SPDX-License-Identifier: GPL-2.0-only
#
# The front door: `make help` lists what there is. The kernel's build system
# reads Kbuild, not this file.

KDIR	?= /lib/modules/$(shell uname -r)/build
PREFIX	?= /usr/local
DESTDIR	?=
OUT	?=
SEEDS	?= 1
SEED	?= 1

ifneq ($(words $(MAKEFILE_LIST) $(abspath $(lastword $(MAKEFILE_LIST)))),2)
$(error make cannot handle a path with a blank: move this clone to another)
endif
HERE	:= $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

# A module must be made by the compiler family that made its kernel.
LLVM_IF_NEEDED := $(if $(shell grep -s '^CONFIG_CC_IS_CLANG=y' $(KDIR)/.config),LLVM=1)
KBUILD	= $(MAKE) -C $(KDIR) M=$(HERE) $(LLVM_IF_NEEDED)

# The release that modprobe looks for. Debian's include/config/kernel.release has another.
KVER	= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' $(KDIR)/include/generated/utsrelease.h)

# A distribution's headers say that modules are signed, and come without its key.
SIG_KEY	= $(shell sed -n 's/^CONFIG_MODULE_SIG_KEY="\(.*\)"/\1/p' $(KDIR)/.config)
NO_SIGN	= $(if $(filter pkcs11:%,$(SIG_KEY))$(wildcard $(SIG_KEY) $(KDIR)/$(SIG_KEY)),,CONFIG_MODULE_SIG_ALL=)

# sudo, unless we are root already; `make dkms-install` as a user asks for it
SUDO	:= $(if $(filter 0,$(shell id -u)),,sudo)

# not in the PATH of Debian's `su`
DEPMOD	:= PATH="$$PATH:/usr/sbin:/sbin" depmod

MAKEFLAGS += --no-print-directory
export PREFIX DESTDIR

.DEFAULT_GOAL := all
.PHONY: help all modules tools install uninstall dkms-install dkms-remove demo \
	reproduce reproduce-full results results-check cells scoreboard hunt bars fuzz proof check lint test-python test-kunit test-guest test-vng races test-tools test-install \
	kernel-matrix bpf test-bpf cost guest setup mutants coverage clean clean-modules distclean have-kdir deb quick fresh

help:	## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(HERE)/Makefile | expand -t 18

all: modules tools	## Build the module for this kernel (KDIR=...) and dalbectl

have-kdir:
	@test -e $(KDIR)/Makefile || { \
	  echo "make: no kernel headers in $(KDIR): type 'sudo apt-get install linux-headers-$$(uname -r)', or name a kernel: make KDIR=/usr/src/linux-headers-..." >&2; \
	  exit 1; }

modules: have-kdir	## Build dalbe.ko for the kernel in KDIR
	+@$(KBUILD) modules

tools:	## Build dalbectl and libdalbe
	+@$(MAKE) -C $(HERE)/tools

bpf:	## Build the BPF edition, for hosts without a compiler (needs clang-19 and libbpf-dev)
	+@$(MAKE) -C $(HERE)/bpf

install: all	## Install module and tools (as root; PREFIX=/usr/local, DESTDIR=)
	+@$(KBUILD) $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) INSTALL_MOD_DIR=updates \
	  INSTALL_MOD_STRIP=1 $(NO_SIGN) modules_install
	+@$(MAKE) -C $(HERE)/tools install
# Where the headers have no System.map, as Debian's, modules_install leaves this out.
	@$(if $(DESTDIR),:,$(DEPMOD) $(KVER))
	@echo "Installed. Load it with 'sudo modprobe tcp_dalbe_cdg'; at every boot: echo tcp_dalbe_cdg | sudo tee /etc/modules-load.d/dalbe.conf"

# The module of every kernel, as nobody remembers for which it was installed.
uninstall:	## Remove what install put there (as root)
	+@$(MAKE) -C $(HERE)/tools uninstall
	@for module in $(DESTDIR)/lib/modules/*/updates/dalbe.ko* $(DESTDIR)/lib/modules/*/updates/tcp_dalbe_cdg.ko*; do \
	  test -e "$$module" || continue; \
	  rm -f "$$module"; \
	  kernel=$${module#$(DESTDIR)/lib/modules/}; \
	  $(if $(DESTDIR),:,$(DEPMOD)) "$${kernel%%/*}"; \
	done
	@echo "Removed. The module stays loaded until 'sudo rmmod dalbe'"

dkms-install: have-kdir tools	## Install the module with DKMS, so that it follows kernel updates, and dalbectl
	@$(HERE)/scripts/dkms.sh install $(KVER) $(KDIR)
	+@$(SUDO) $(MAKE) -C $(HERE)/tools install PREFIX=$(PREFIX)

dkms-remove:	## Take that back
	@$(HERE)/scripts/dkms.sh remove
	+@$(SUDO) $(MAKE) -C $(HERE)/tools uninstall PREFIX=$(PREFIX)

deb:	## Debian packages of module (DKMS), tool and library, in OUT=build/deb
	@$(HERE)/scripts/deb.sh $(or $(OUT),build/deb)

demo:	## A file, a deadline, a busy link: report in OUT=demo (SEEDS=1)
	@$(HERE)/scripts/reproduce.sh --sweep demo:$(SEEDS) $(or $(OUT),demo)

reproduce:	## The CDG paper's Figures 2 and 3 and Table I, reduced: report in OUT=reproduction
	@$(HERE)/scripts/reproduce.sh $(or $(OUT),reproduction)

reproduce-full:	## ... in full, with ablations and a stock kernel
	@$(HERE)/scripts/reproduce.sh --full $(or $(OUT),reproduction)

cells:	## Of that, 12 cells with dalbe_cdg beside the in-tree cdg
	@$(HERE)/scripts/reproduce.sh --sweep cells $(or $(OUT),reproduction)

scoreboard:	## A goal beside rate caps, peers and strict priority, under a load that varies
	@$(HERE)/scripts/reproduce.sh --sweep scoreboard --sweep scoreboard-framework $(or $(OUT),scoreboard)

results:	## Make the sweeps again whose tables the documents quote, in OUT=evidence, and copy these (DRY=1: list runs and time)
	@$(HERE)/scripts/reproduce.sh --quoted $(if $(DRY),--dry-run) $(or $(OUT),evidence)

results-check:	## Which module made each table in docs/results; fails while one is older than the module here
	@$(HERE)/scripts/testbed.sh results-check

hunt:	## Search the simulator for the scavenger's worst scenarios: OUT=hunt (SECONDS=300 or RUNS=1000; SEED=1)
	@$(HERE)/scripts/testbed.sh hunt --out $(or $(OUT),hunt) --seed $(SEED) \
	  $(if $(RUNS),--runs $(RUNS)) $(if $(SECONDS),--seconds $(SECONDS))

bars:	## Simulate what the scavenger has to reach, and say what it reaches: OUT=bars.csv (SEEDS=10)
	@$(HERE)/scripts/testbed.sh bars --out $(or $(OUT),bars.csv) --seeds $(if $(filter file,$(origin SEEDS)),10,$(SEEDS))

fuzz:	## Fuzz the whole sender against what the documents promise, in OUT=build/fuzz (SECONDS=300)
	@$(HERE)/tests/fuzz/run.sh $(SECONDS)

proof:	## Prove what is said of the arithmetic, by Frama-C, in a minute
	@$(HERE)/tests/proof/run.sh

check:	## Every test there is; installs what it needs
	@$(HERE)/scripts/check.sh

quick:	## In two minutes: tests of tools, arithmetic, testbed; lint of what changed (after make setup)
	@$(HERE)/scripts/check.sh --quick

lint:	## Style: checkpatch, shellcheck, ruff, mypy, manual pages, UAPI layout
	@$(HERE)/scripts/lint.sh

kernel-matrix:	## Build with W=1 and sparse for Debian's 6.1, 6.12, 7.2, arm64, armhf and BBRv3's patches, and boot those three
	@$(HERE)/scripts/kernel-matrix.sh

test-bpf:	## The BPF edition in Debian's 6.1, 6.12 and 7.2 under lockdown, four minutes each
	@$(HERE)/scripts/bpf-test.sh

test-tools:	## Tests of dalbectl and libdalbe
	+@$(MAKE) -C $(HERE)/tools test

cost:	## Instructions per ACK and goodput per CPU second, beside cubic, cdg, bbr: OUT=docs/results/cost
	@$(HERE)/scripts/cost.sh $(OUT)

test-python:	## Python tests
	@$(HERE)/scripts/pytest.sh

test-kunit:	## KUnit tests, in the debug guest
	@$(HERE)/tests/kunit/run.sh

test-guest:	## Tests of the module under KASAN, lockdep and kmemleak, in the debug guest
	@$(HERE)/tests/guest/run.sh

coverage:	## Lines and branches of the module that the guest tests run, in a guest with gcov
	@$(HERE)/tests/guest/run.sh -c

mutants:	## Small faults in FILES="core/sender.c ..." that their fast tests do not find (N=50; SEED=1)
	@$(HERE)/scripts/mutants.py -n $(or $(N),50) -s $(SEED) $(FILES)

test-vng:	## The module in the distribution's own kernel, two CPUs
	@$(HERE)/scripts/vng-test.sh

races:	## Data races and wrong locking: everything at once on four CPUs, under KCSAN and lockdep (SECONDS=180)
	@SECONDS_OF=$(SECONDS) $(HERE)/scripts/races.sh

test-install:	## Installing, in minimal Debians (6.1, 6.12) that are thrown away afterwards
	@$(HERE)/scripts/install-test.sh

fresh:	## The commands of README and docs/operate.md in a minimal Debian 12 and 13 (DEMO=1: make demo as well)
	@$(HERE)/scripts/fresh.sh $(if $(DEMO),--demo)

guest:	## Build the guest kernels, plain and debug, into the cache
	@$(HERE)/testbed/guest/build-kernel.sh plain
	@$(HERE)/testbed/guest/build-kernel.sh debug

setup:	## Install what make check needs, and nothing else
	@$(HERE)/scripts/setup.sh check

clean-modules:
	+@test ! -e $(KDIR)/Makefile || $(KBUILD) \
	  $(if $(wildcard $(HERE)/tests/kunit/Kbuild $(HERE)/tests/kunit/Makefile),DALBE_KUNIT=m) clean

clean: clean-modules	## Remove what was built here
	+@$(MAKE) -C $(HERE)/tools clean
	+@$(MAKE) -C $(HERE)/bpf clean

distclean: clean	## And the results, the demo and the cache
	@rm -rf $(HERE)/results $(HERE)/demo $(HERE)/reproduction $(HERE)/scoreboard $(HERE)/hunt
	@if [ "$$DALBE_CACHE" ]; then echo "Left, as others may use it: $$DALBE_CACHE"; \
	  else rm -rf ~/.cache/dalbe 2>/dev/null || $(SUDO) rm -rf ~/.cache/dalbe; fi
