# Every target works from any folder: make -C path/to/martlet test
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The families, and the packages of this repository that use them as a user does.
families := $(shell scripts/modules --families)
packages := $(patsubst %/Package.swift,%,$(wildcard Examples/*/Package.swift Benchmarks/Package.swift Combine/Package.swift SAPCommon/Package.swift))
tested := $(patsubst %/Tests,%,$(wildcard $(addsuffix /Tests,$(families) $(packages))))

# The package that test and build are for, such as SAP: `make -C SAP test` sets it.
FAMILY ?=

# Debian's folders of daemons, which are not in a user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

# The number of tests that run at once. All at once would share few threads, and a waiting test would exceed its time limit.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8

# The number of minutes after which the tests of a package are ended, so that a hanging test fails the run.
export TEST_MINUTES ?= 30

# Passed to the program or script of a target that has one: make demo ARGS="--help", make test ARGS="--filter Redirect"
ARGS ?=

# The folder of other packages' repositories, for `make integrations`; without it they come from the network.
MIRRORS ?=

# The folder into which `make install` installs the command-line tool. DESTDIR is prepended to it, for packages.
PREFIX ?= /usr/local

# Whether the tool of `make install` draws images. With no, it needs no libraries of image formats.
IMAGES ?= yes

.PHONY: help build install uninstall demo slideshow-window example-sap sap-gateway test check check-page check-site check-window format bench interop integrations scores fleet \
  storm slow docs api sanitize sanitize-thread sanitize-address fuzz clean build-libraries window-libraries check-page-libraries check-window-libraries test-libraries \
  bench-libraries interop-libraries static-program

help: ## list the targets of make
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: build-libraries ## the slideshow with its own demo service
	@scripts/replan Examples/Slideshow/.build
	@exec swift run --package-path Examples/Slideshow -c release slideshow $(ARGS)

slideshow-window: window-libraries ## the same slideshow in a window (GTK 4)
	@scripts/replan Examples/Slideshow/.build
	@exec env SLIDESHOW_WINDOW=1 swift run --package-path Examples/Slideshow -c release slideshow-window $(ARGS)

example-sap: build-libraries ## an app for SAP Mobile Services as a shell: users onboard, return, lock it and leave; ARGS=--tour
	@scripts/build Examples/SAP --product sap-shell >&2
	@exec .build/debug/sap-shell $(ARGS)

sap-gateway: build-libraries ## a SAP gateway for curl and apps, whose faults a request chooses; ARGS="--port 8010"
	@scripts/build Examples/SAP --product sap-gateway >&2
	@exec .build/debug/sap-gateway $(ARGS)

test: test-libraries ## all tests, with warnings as errors; `make -C SAP test` only those of SAP
	@scripts/test $(or $(FAMILY),$(tested)) -- $(ARGS)

build: test-libraries ## all modules and the programs in Snippets, with the flags of the tests; `make -C SAP build` only SAP
	@scripts/build $(FAMILY) $(ARGS)

check: test-libraries ## the checks except the tests and the slow ones (ARGS=--full): format, warnings, documentation and its code, the rules
	@scripts/check $(ARGS)

check-window: check-window-libraries ## tries the window on a display of its own, with keys and mouse, and takes screenshots
	@Examples/Slideshow/check-window

check-page: check-page-libraries ## tries the inspector's page in Chromium, and takes screenshots
	@scripts/build Inspector --product inspector-program
	@scripts/check-page $(ARGS)

check-site: check-page-libraries ## tries the site of the last `make docs` in Chromium, and takes screenshots
	@scripts/check-site $(ARGS)

format: ## format the Swift sources with the rules of .swift-format
	@scripts/swift-files | xargs -0 swift format format --in-place --parallel

bench: bench-libraries ## the measurements; about 20 minutes after the build, or 4 with ARGS="--quick"
	@scripts/bench $(ARGS)

interop: interop-libraries ## test sessions with other servers, proxies and readers
	@scripts/interop $(ARGS)

integrations: build-libraries ## the bridges to other packages, with these packages and the tests; MIRRORS=FOLDER uses repositories in a folder
	@MIRRORS="$(MIRRORS)" scripts/integrations $(ARGS)

scores: interop-libraries ## run public suites for caches and cookies with Martlet and other clients, and print a table
	@scripts/scores

fleet: interop-libraries ## processes that share a Redis server, some of them killed or stopped; half a minute after the build
	@scripts/replan Interop/.build
	@exec swift run --package-path Interop -c release fleet

storm: test-libraries ## cancel operations of all entry points at random moments, for ten minutes; ARGS="--thread --minutes 2"
	@scripts/storm $(ARGS)

static-program: ## link a program with all its libraries into one file, and run it in an empty root folder
	@scripts/static-program

slow: test-libraries ## run the slow check that was run longest ago, and record the result; ARGS=--list shows all of them
	@scripts/slow $(ARGS)

docs: test-libraries ## the documentation, as a site; ARGS=--serve serves it
	@case '$(ARGS)' in *--serve*) test -f .build/documentation/site/search/index.json ;; *) false ;; esac || scripts/build
	@exec scripts/documentation $(ARGS)

api: test-libraries ## write the public API of each module into Tests/API, where a commit shows its changes
	@scripts/build
	@scripts/api

sanitize: sanitize-thread sanitize-address ## the families' tests under the thread and the address sanitizer

sanitize-thread sanitize-address: sanitize-%: test-libraries
	@scripts/sanitize $* $(ARGS)

fuzz: test-libraries ## run libFuzzer on parsers and protocols, with the address sanitizer; ARGS="--seconds 3600 http2"
	@scripts/fuzz $(ARGS)

# The program contains the Swift libraries, so it also runs where Swift is not installed.
install: build-libraries ## martlet, the command-line tool, with manual page and completions; PREFIX=~/.local for one user, IMAGES=no without --image
	@IMAGES="$(IMAGES)" scripts/install-tool install "$(DESTDIR)$(PREFIX)"

uninstall: ## remove the files of install under PREFIX
	@scripts/install-tool uninstall "$(DESTDIR)$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf $(addsuffix /.build,. Fuzz Interop Integrations Tests/Consumer $(families) $(packages))

build-libraries window-libraries check-page-libraries check-window-libraries test-libraries bench-libraries interop-libraries: %-libraries:
	@scripts/install-system-libraries $*
