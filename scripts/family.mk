# The Makefile of each family includes this: `make -C SAP test` is the root's `make test` for SAP alone, with the same options.
scripts := $(dir $(lastword $(MAKEFILE_LIST)))

.PHONY: test build
test build:
	@$(MAKE) --no-print-directory -C $(scripts).. $@ FAMILY=$(patsubst $(abspath $(scripts)..)/%,%,$(CURDIR))
