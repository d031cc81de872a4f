# The commands of this project. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test lint install up lock clean forget
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# `make test ARGS="-k settlement"`, `make up ARGS="--port 8080"`
ARGS ?=

help: ## This list
	@echo "Twofold. make what?"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: install ## Everything once, measured on this machine, then the site at localhost
	@$(BIN)/python manage.py demo $(ARGS)

# What times something wants the processors to itself. 5: none of its tests was asked for.
# Tests wait for processes that they start: one more at work than there are processors.
# Hundreds of processes are started: none should compile again what another has.
test: export PYTHONDONTWRITEBYTECODE :=
test: install ## The whole test suite
	@$(BIN)/pytest --numprocesses $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --maxprocesses 4 --dist worksteal -m "not alone" $(ARGS) || [ $$? = 5 ]
	@TWOFOLD_REQUIRE_BROWSER= $(BIN)/pytest -m alone $(ARGS) || [ $$? = 5 ]

lint: install ## Style, types, import rules, templates, migrations, deployment checks
	@.ci/lint

install: $(STAMP) ## The environment alone: .venv with everything pinned

up: install ## Serve what is there: web, workers and beat in this terminal
	@$(BIN)/python manage.py up $(ARGS)

lock: ## Pin the newest versions that fit pyproject.toml
	@.ci/lock

clean: ## Remove the environment; the data in .twofold stays
	@if [ -x $(BIN)/python ]; then $(BIN)/python manage.py services stop || true; fi
	@rm -rf $(VENV)

forget: ## Delete all local data for good: database, records, documents. Asks first
	@if [ ! -d .twofold ]; then echo "There is no local data: no folder .twofold."; else \
		echo "This deletes .twofold ($$(du -sh .twofold | cut -f1)) for good: the database with every"; \
		echo "engagement, the records of every run, the demonstration and its documents."; \
		read -r -p "Type forget to go on: " answer || true; \
		[ "$${answer:-}" = forget ] || { echo "Nothing was deleted."; exit 1; }; \
		if [ -x $(BIN)/python ]; then $(BIN)/python manage.py services stop || true; fi; \
		rm -rf .twofold; \
		echo "Deleted."; \
	fi

# An interrupted installation leaves no stamp, so the next call goes on with it.
$(STAMP): pyproject.toml .ci/constraints.txt .ci/install
	@.ci/install $(VENV)
	@touch $@
