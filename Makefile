# Every target works from any folder: make -C path/to/martlet test
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Beside the root, the packages of this repository, as far as they are there.
packages := $(patsubst %/Package.swift,%,$(wildcard Examples/*/Package.swift Benchmarks/Package.swift))
tested := $(patsubst %/Tests,%,$(wildcard $(packages:%=%/Tests))) .
strict := $(shell grep -v '^#' scripts/build-flags)

# Debian keeps daemons where a user's PATH does not look.
export PATH := $(PATH):/usr/sbin:/sbin

# How many tests run at once. All at once would share few threads, and a test's time limit would count while it waits for one.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8

# After how many minutes the tests of a package are ended, so that one that never comes back fails the run.
export TEST_MINUTES ?= 30

# Passed on by demo, bench, check, docs, fuzz, test, interop and sanitize: make demo ARGS="--help", make test ARGS="--filter Redirect"
ARGS ?=

# Where the repositories of other packages are, for `make integrations`; without it they come from the network.
MIRRORS ?=

# Where `make install` puts the command-line tool; DESTDIR comes before it, for packages.
PREFIX ?= /usr/local

.PHONY: help install uninstall demo slideshow-window example-sap test check check-window format bench interop integrations scores fleet \
  docs api sanitize sanitize-thread sanitize-address fuzz clean build-libraries window-libraries check-window-libraries test-libraries \
  bench-libraries interop-libraries

help: ## list what make can do
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: build-libraries ## the slideshow over its own demo service
	@scripts/replan Examples/Slideshow/.build
	@exec swift run --package-path Examples/Slideshow -c release slideshow $(ARGS)

slideshow-window: window-libraries ## the same slideshow in a window (GTK 4)
	@scripts/replan Examples/Slideshow/.build
	@exec env SLIDESHOW_WINDOW=1 swift run --package-path Examples/Slideshow -c release slideshow-window $(ARGS)

example-sap: build-libraries ## an example app for SAP Mobile Services, with a service of its own
	@exec swift run --package-path Examples/SAP --scratch-path .build $(strict) sap-story

# The root comes last, so that the last line is the count of its tests.
test: test-libraries ## all tests, with warnings as errors
	@scripts/test $(tested) -- $(ARGS)

check: test-libraries ## what must hold besides the tests: format, warnings, imports, documentation and its code, release builds, the rules of CONTRIBUTING.md
	@scripts/check $(ARGS)

check-window: check-window-libraries ## tries the window on a display of its own, with keys and mouse, and takes screenshots
	@Examples/Slideshow/check-window

format: ## lay out the Swift sources as .swift-format says
	@scripts/swift-files | xargs -0 swift format format --in-place --parallel

bench: bench-libraries ## the measurements; about 15 minutes after the build, with ARGS="--quick" 3
	@scripts/bench $(ARGS)

interop: interop-libraries ## sessions against servers, proxies and readers that others wrote
	@scripts/interop $(ARGS)

integrations: build-libraries ## the bridges to other packages, with these and their tests; MIRRORS=FOLDER takes them from there
	@MIRRORS="$(MIRRORS)" scripts/integrations $(ARGS)

scores: interop-libraries ## public suites for caches and cookies over Martlet and over others, as a table
	@scripts/scores

fleet: interop-libraries ## processes that share a Redis server, which are killed and stopped on the way; half a minute after the build
	@scripts/replan Interop/.build
	@exec swift run --package-path Interop -c release fleet

docs: test-libraries ## the documentation, as a site; ARGS=--serve shows it
	@swift build $(strict)
	@exec scripts/documentation $(ARGS)

api: test-libraries ## write the public API of each module into Tests/API, where a commit shows its changes
	@swift build $(strict)
	@scripts/api

sanitize: sanitize-thread sanitize-address ## the root's tests under the thread and the address sanitizer

sanitize-thread sanitize-address: sanitize-%: test-libraries
	@scripts/sanitize $* $(ARGS)

fuzz: test-libraries ## libFuzzer on parsers and conversations, with the address sanitizer; ARGS="--seconds 3600 http2"
	@scripts/fuzz $(ARGS)

# The program has the Swift libraries in it, so that it runs where there is no Swift.
install: build-libraries ## martlet, the command-line tool, with manual page and completions; PREFIX=~/.local for one user
	@scripts/install-tool install "$(DESTDIR)$(PREFIX)"

uninstall: ## remove what install has put under PREFIX
	@scripts/install-tool uninstall "$(DESTDIR)$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf $(addsuffix /.build,. Fuzz Interop Integrations Tests/Consumer $(packages))

build-libraries window-libraries check-window-libraries test-libraries bench-libraries interop-libraries: %-libraries:
	@scripts/install-system-libraries $*
