# SPDX-License-Identifier: GPL-2.0-only
#
# The front door: `make help` lists what there is. The kernel's build system
# reads Kbuild, not this file.

VERSION	:= 0.1.0
KDIR	?= /lib/modules/$(shell uname -r)/build
PREFIX	?= /usr/local
OUT	?=
SEEDS	?= 1

HERE	:= $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
DKMS_SRC := /usr/src/dalbe-$(VERSION)

# A module must be made by the compiler family that made its kernel.
LLVM_IF_NEEDED := $(if $(shell grep -s '^CONFIG_CC_IS_CLANG=y' $(KDIR)/.config),LLVM=1)
KBUILD	= $(MAKE) -C $(KDIR) M=$(HERE) $(LLVM_IF_NEEDED)

# sudo, unless we are root already; `make dkms-install` as a user asks for it
SUDO	:= $(if $(filter 0,$(shell id -u)),,sudo)

MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := all
.PHONY: help all modules tools install uninstall dkms-install dkms-remove demo \
	reproduce reproduce-full cells scoreboard check lint test-python test-kunit test-guest test-vng test-tools \
	kernel-matrix guest setup clean clean-modules distclean have-kdir have-dkms

help:	## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(HERE)/Makefile | expand -t 18

all: modules tools	## Build the module for this kernel (KDIR=...) and dalbectl

have-kdir:
	@test -e $(KDIR)/Makefile || { \
	  echo "make: no kernel headers in $(KDIR): type 'sudo apt-get install linux-headers-$$(uname -r)', or name a kernel: make KDIR=/usr/src/linux-headers-..." >&2; \
	  exit 1; }

modules: have-kdir	## Build tcp_dalbe_cdg.ko for the kernel in KDIR
	+@$(KBUILD) modules

tools:	## Build dalbectl and libdalbe
	+@$(MAKE) -C $(HERE)/tools

install: all	## Install module and tools (as root; PREFIX=/usr/local, DESTDIR=)
	+@$(KBUILD) $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) INSTALL_MOD_DIR=updates modules_install
	+@$(MAKE) -C $(HERE)/tools install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	@echo "Installed. Load it with 'sudo modprobe tcp_dalbe_cdg'; at every boot: echo tcp_dalbe_cdg | sudo tee /etc/modules-load.d/dalbe.conf"

# What modules_install and `make -C tools install` put where, for every kernel.
uninstall:	## Remove what install put there (as root)
	@rm -f $(DESTDIR)/lib/modules/*/updates/tcp_dalbe_cdg.ko*
	@rm -f $(DESTDIR)$(PREFIX)/bin/dalbectl $(DESTDIR)$(PREFIX)/lib/libdalbe.a
	@rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/,libdalbe.h dalbe_ctl.h)
	@rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1/dalbectl.1 man3/libdalbe.3 man4/dalbe.4 man7/dalbe.7)
	@test -n "$(DESTDIR)" || depmod -a
	@echo "Removed. The module stays loaded until 'sudo rmmod tcp_dalbe_cdg'"

have-dkms:
	@command -v dkms >/dev/null || { \
	  echo "make: dkms is missing: type 'sudo apt-get install dkms'" >&2; exit 1; }

dkms-install: have-dkms have-kdir	## Install the module with DKMS, so that it follows kernel updates
	$(SUDO) rm -rf $(DKMS_SRC)
	$(SUDO) install -d $(DKMS_SRC)
	$(SUDO) install -m 644 Kbuild Makefile dkms.conf $(wildcard *.c) $(wildcard *.h) $(DKMS_SRC)
	$(SUDO) dkms add dalbe/$(VERSION)
	$(SUDO) dkms install dalbe/$(VERSION)

dkms-remove: have-dkms	## Remove the module from DKMS
	$(SUDO) dkms remove dalbe/$(VERSION) --all
	$(SUDO) rm -rf $(DKMS_SRC)

demo:	## A file, a deadline, a busy link: table and plots in OUT=demo (SEEDS=1)
	@$(HERE)/scripts/demo.sh --out $(or $(OUT),demo) --seeds $(SEEDS)

reproduce:	## The CDG paper's Figures 2 and 3 and Table I, reduced: report in OUT=reproduction
	@$(HERE)/scripts/reproduce.sh $(or $(OUT),reproduction)

reproduce-full:	## ... in full, with ablations and a stock kernel
	@$(HERE)/scripts/reproduce.sh --full $(or $(OUT),reproduction)

cells:	## Of that, 12 cells with dalbe_cdg beside the in-tree cdg
	@$(HERE)/scripts/reproduce.sh --sweep cells $(or $(OUT),reproduction)

scoreboard:	## A goal beside rate caps, peers and strict priority, under a load that varies
	@$(HERE)/scripts/reproduce.sh --sweep scoreboard --sweep scoreboard-framework $(or $(OUT),scoreboard)

check:	## Every test there is; installs what it needs
	@$(HERE)/scripts/check.sh

lint:	## Style: checkpatch, shellcheck, ruff, mypy, manual pages, UAPI layout
	@$(HERE)/scripts/lint.sh

kernel-matrix:	## Build with W=1 and sparse against Debian's 6.1, 6.12 and 7.2
	@$(HERE)/scripts/kernel-matrix.sh

test-tools:	## Tests of dalbectl and libdalbe
	+@$(MAKE) -C $(HERE)/tools test

test-python:	## Python tests
	@$(HERE)/scripts/pytest.sh

test-kunit:	## KUnit tests, in the debug guest
	@$(HERE)/tests/kunit/run.sh

test-guest:	## Tests of the module under KASAN, lockdep and kmemleak, in the debug guest
	@$(HERE)/tests/guest/run.sh

test-vng:	## The module in the distribution's own kernel, two CPUs
	@$(HERE)/scripts/vng-test.sh

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

distclean: clean	## And the results, the demo and the cache
	@rm -rf $(HERE)/results $(HERE)/demo $(HERE)/reproduction $(HERE)/scoreboard "$${DALBE_CACHE:-$$HOME/.cache/dalbe}"
