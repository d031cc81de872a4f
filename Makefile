# The commands of this project. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test browser soak lint install up lock clean forget
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# `make test ARGS="-k settlement"`, `make up ARGS="--port 8080"`
ARGS ?=
# Tests wait for processes that they start, so one more worker than processors.
WORKERS = $$(($$(getconf _NPROCESSORS_ONLN) + 1))

help: ## List the commands
	@echo "Twofold. make what?"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: install ## Run the main workflow on this machine, then serve the site at localhost
	@$(BIN)/python manage.py demo $(ARGS)

# `alone` tests measure times and need idle processors. pytest exits with 5 when it selects no test.
# Bytecode is written, because the tests start hundreds of Python processes.
test: export PYTHONDONTWRITEBYTECODE :=
test: install browser ## Run the test suite, without its long forms
	@$(BIN)/pytest --numprocesses $(WORKERS) --maxprocesses 4 --dist worksteal -m "not alone and not soak" $(ARGS) || [ $$? = 5 ]
	@TWOFOLD_REQUIRE_BROWSER= $(BIN)/pytest -m "alone and not soak" $(ARGS) || [ $$? = 5 ]

soak: export PYTHONDONTWRITEBYTECODE :=
soak: install browser ## Run the long forms of the tests
	@$(BIN)/pytest --numprocesses $(WORKERS) --maxprocesses 4 --dist worksteal -m "soak and not alone" $(ARGS) || [ $$? = 5 ]
	@TWOFOLD_REQUIRE_BROWSER= $(BIN)/pytest -m "soak and alone" $(ARGS) || [ $$? = 5 ]

lint: install ## Check style, types, import rules, templates, migrations and deployment
	@.ci/lint

browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || .ci/system-packages chromium \
		|| echo "The browser tests are left out: install Chromium to run them."

install: $(STAMP) ## Create .venv with every pinned package

up: install ## Serve the site with its workers in this terminal
	@$(BIN)/python manage.py up $(ARGS)

lock: ## Pin the newest versions that fit pyproject.toml
	@.ci/lock

clean: ## Delete the environment; the data in .twofold stays
	@if [ -x $(BIN)/python ]; then $(BIN)/python manage.py services stop || true; fi
	@rm -rf $(VENV)

forget: ## Delete all local data: database, records, documents. Asks first
	@if [ ! -d .twofold ]; then echo "There is no local data: no folder .twofold."; else \
		echo "This permanently deletes .twofold ($$(du -sh .twofold | cut -f1)): the database with all"; \
		echo "engagements, all records, the demonstration and its documents."; \
		read -r -p "Type forget to confirm: " answer || true; \
		[ "$${answer:-}" = forget ] || { echo "Nothing was deleted."; exit 1; }; \
		if [ -x $(BIN)/python ]; then $(BIN)/python manage.py services stop || true; fi; \
		rm -rf .twofold; \
		echo "Deleted."; \
	fi

# An interrupted installation leaves no stamp, so the next call resumes it.
$(STAMP): pyproject.toml .ci/constraints.txt .ci/install
	@.ci/install $(VENV)
	@touch $@
