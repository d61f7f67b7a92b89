# The commands of the house. Each installs the system packages it needs, or names them.

SHELL := /bin/bash
SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
LOAD ?= 0
override PREFIX := $(abspath $(patsubst ~/%,$(HOME)/%,$(PREFIX)))

bindir := $(PREFIX)/bin
# Where systemd looks for user units below /usr, /usr/local and ~/.local alike.
unitdir := $(PREFIX)/share/systemd/user
# Where desktops look for programs, and GeoClue's agent for who asks it.
applicationsdir := $(PREFIX)/share/applications
iconsdir := $(PREFIX)/share/icons/hicolor/scalable/apps
# Where software centres look for descriptions of programs.
metainfodir := $(PREFIX)/share/metainfo
# Where systemd looks for system units.
systemunitdir := $(PREFIX)/lib/systemd/system
docdir := $(PREFIX)/share/doc/nightshift
# The line in user units that names what is installed with them.
documentation := Documentation=man:nightshiftd(1) file:$(docdir)/docs/operations.md
gatewaydocdir := $(PREFIX)/share/doc/nightshift-gateway
bashdir := $(PREFIX)/share/bash-completion/completions
zshdir := $(PREFIX)/share/zsh/site-functions
fishdir := $(PREFIX)/share/fish/vendor_completions.d
mandir := $(PREFIX)/share/man/man1
version := $(shell sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/API/NightshiftAPI/Version.swift)
# The day of the release in the metainfo: that of the manual pages.
releasedate = $(shell date -u -d "@$${SOURCE_DATE_EPOCH:-$$(date +%s)}" +%Y-%m-%d)

# Static, so that what is installed does not need the toolchain that built it.
static := --configuration release --static-swift-stdlib
# Builds for a release: with the options that make programs small, which are the same in every build that shares a folder.
release-build = options=$$(scripts/link-options.sh) && $(SWIFT) build $$options
# Without this trait the package is the library for apps alone.
service := --traits Service
release := $(service) $(static)
# With BINARIES= and GATEWAYBINARIES=, folders of programs that are built already, nothing is built.
binaries := $(if $(BINARIES),$(abspath $(BINARIES)),$(shell pwd)/.build/release)
built := $(if $(BINARIES),,release)
gateway := --package-path Gateway --scratch-path .build-gateway-release $(static)
gatewaybinaries := $(if $(GATEWAYBINARIES),$(abspath $(GATEWAYBINARIES)),$(shell pwd)/.build-gateway-release/release)
gatewaybuilt := $(if $(GATEWAYBINARIES),,gateway-release)
# Whether a benchmark's parts need the gateway: all of them, or that of pushes.
gatewaybench := $(if $(findstring --only,$(BENCH)),$(if $(findstring push,$(BENCH)),gateway-bench),gateway-bench)
# The documents and the files that they link to. They are installed with their paths, so that the links between them work.
documents := README.md CHANGELOG.md CONTRIBUTING.md .gitmessage LICENSE scripts/demo-push.sh \
	$(sort $(shell find docs Examples Sources/Library/Nightshift/Nightshift.docc -type f -not -path '*/.*'))
formatted := Sources Tests Examples Benchmarks Gateway Package.swift

.DEFAULT_GOAL := help
.PHONY: help build demo demo-push test test-all gateway-test bench release install uninstall format lint clean
.PHONY: gateway-release gateway-bench install-gateway uninstall-gateway deb deb-test machine-test

help:
	@echo "make demo              watch an app's download survive its suspension, kill -9 and cut connections (a minute, no internet)"
	@echo 'make demo-push         watch a push wake an app, and its alert shown when that has fetched (builds the gateway)'
	@echo 'make install PREFIX=   build and install nightshift, nightshiftd, systemd units, completions, manual pages and documents'
	@echo 'make uninstall PREFIX= take them away again; state and downloads stay'
	@echo 'make install-gateway PREFIX=, make uninstall-gateway PREFIX='
	@echo '                       the same for the push gateway, a service of the system on a machine of its own'
	@echo 'make deb               build Debian packages of both, and an archive of the library, into .build-deb/'
	@echo 'make deb-test          install, upgrade, remove and purge the packages in a bare Debian 12 (needs root)'
	@echo 'make test LOAD=        the tests that show the most, in a third of the time; with LOAD=8, beside eight busy loops'
	@echo 'make test-all LOAD=    every test, those of the push gateway included'
	@echo 'make gateway-test      build the push gateway, and test it with provider libraries from PyPI'
	@echo 'make bench             measure against curl, wget2, aria2 and axel; writes docs/benchmarks.md'
	@echo "make bench BENCH='--only push'"
	@echo '                       a part of it alone, here the push gateway; only prints'
	@echo 'make machine-test DEBS= install the packages on a Debian machine in qemu, and check it; writes docs/machine-test.md (needs root)'
	@echo "make machine-test MACHINE=--short"
	@echo '                       the shortest form; --only NAME runs one check, and --list names them'
	@echo 'make format            rewrite to the house format'
	@echo 'make lint              check the format, and the subjects of new commits'
	@echo 'make clean             remove what was built'

build:
	@scripts/packages.sh build
	$(SWIFT) build $(service)

demo: build
	@scripts/demo.sh

demo-push: build
	@scripts/packages.sh build push
	$(SWIFT) build --package-path Gateway --scratch-path .build-gateway
	@scripts/demo-push.sh

test:
	@scripts/packages.sh build test
	@LOAD='$(LOAD)' scripts/test.sh --quick

test-all:
	@scripts/packages.sh build test gateway
	@LOAD='$(LOAD)' scripts/test.sh

gateway-test:
	@scripts/gateway-tests.sh

release:
	@scripts/packages.sh build
	$(release-build) $(release) --product nightshift
	ln -sf nightshift $(binaries)/nightshiftd

gateway-release:
	@scripts/packages.sh build cluster
	$(release-build) $(gateway) --product nightshift-gateway

gateway-bench: gateway-release
	$(release-build) $(gateway) --product gateway-load

bench: release $(gatewaybench)
	@scripts/packages.sh bench
	$(release-build) $(release) --product misbehaving-origin
	$(release-build) $(release) --product resumable-upload-server
	$(release-build) $(release) --product freshness-report
	$(release-build) $(release) --product receiver-report
	$(SWIFT) build --package-path Benchmarks --scratch-path .build-bench --configuration release
	.build-bench/release/nightshift-bench --binaries $(binaries) --gateway $(gatewaybinaries) --output docs/benchmarks.md $(BENCH)

install: $(built)
	install -D -m 755 $(binaries)/nightshift $(DESTDIR)$(bindir)/nightshift
	# One program under two names.
	ln -sf nightshift $(DESTDIR)$(bindir)/nightshiftd
	install -d $(DESTDIR)$(unitdir) $(DESTDIR)$(applicationsdir) $(DESTDIR)$(metainfodir) $(DESTDIR)$(bashdir) $(DESTDIR)$(zshdir) \
		$(DESTDIR)$(fishdir) $(DESTDIR)$(mandir) $(DESTDIR)$(docdir)
	sed 's|^Exec=nightshift|Exec=$(bindir)/nightshift|' packaging/applications/nightshift.desktop \
		>$(DESTDIR)$(applicationsdir)/nightshift.desktop
	chmod 644 $(DESTDIR)$(applicationsdir)/nightshift.desktop
	install -D -m 644 packaging/icons/nightshift.svg $(DESTDIR)$(iconsdir)/nightshift.svg
	sed 's|@VERSION@|$(version)|; s|@DATE@|$(releasedate)|' packaging/metainfo/org.example.nightshift.metainfo.xml \
		>$(DESTDIR)$(metainfodir)/org.example.nightshift.metainfo.xml
	chmod 644 $(DESTDIR)$(metainfodir)/org.example.nightshift.metainfo.xml
	for unit in nightshiftd.service nightshiftd.socket nightshift-aria2.service nightshift-aria2.socket; do \
		sed 's|^ExecStart=[^ ]*nightshiftd|ExecStart=$(bindir)/nightshiftd|; /^Documentation=/d; /^Description=/a $(documentation)' \
			packaging/systemd/$$unit \
			>$(DESTDIR)$(unitdir)/$$unit && chmod 644 $(DESTDIR)$(unitdir)/$$unit || exit 1; \
	done
	$(binaries)/nightshift completions bash | sed '1{/^#!/d;}' >$(DESTDIR)$(bashdir)/nightshift
	$(binaries)/nightshift completions zsh >$(DESTDIR)$(zshdir)/_nightshift
	$(binaries)/nightshift completions fish >$(DESTDIR)$(fishdir)/nightshift.fish
	$(binaries)/nightshift manual >$(DESTDIR)$(mandir)/nightshift.1
	$(binaries)/nightshiftd --experimental-dump-help | $(binaries)/nightshift manual - >$(DESTDIR)$(mandir)/nightshiftd.1
	chmod 644 $(DESTDIR)$(mandir)/nightshift.1 $(DESTDIR)$(mandir)/nightshiftd.1
	for file in $(documents); do install -D -m 644 $$file $(DESTDIR)$(docdir)/$$file || exit 1; done
	@echo
	@echo 'Installed. The service starts with the first "nightshift get URL". To let systemd keep it:'
	@echo '    nightshift service install'

uninstall:
	rm -f $(DESTDIR)$(bindir)/nightshift $(DESTDIR)$(bindir)/nightshiftd
	rm -f $(DESTDIR)$(unitdir)/nightshiftd.service $(DESTDIR)$(unitdir)/nightshiftd.socket \
		$(DESTDIR)$(unitdir)/nightshift-aria2.service $(DESTDIR)$(unitdir)/nightshift-aria2.socket
	rm -f $(DESTDIR)$(applicationsdir)/nightshift.desktop $(DESTDIR)$(iconsdir)/nightshift.svg
	rm -f $(DESTDIR)$(metainfodir)/org.example.nightshift.metainfo.xml
	rm -f $(DESTDIR)$(bashdir)/nightshift $(DESTDIR)$(zshdir)/_nightshift $(DESTDIR)$(fishdir)/nightshift.fish
	rm -f $(DESTDIR)$(mandir)/nightshift.1 $(DESTDIR)$(mandir)/nightshiftd.1
	rm -rf $(DESTDIR)$(docdir)

install-gateway: $(gatewaybuilt)
	install -D -m 755 $(gatewaybinaries)/nightshift-gateway $(DESTDIR)$(bindir)/nightshift-gateway
	install -d $(DESTDIR)$(systemunitdir) $(DESTDIR)$(bashdir) $(DESTDIR)$(zshdir) $(DESTDIR)$(fishdir) \
		$(DESTDIR)$(mandir) $(DESTDIR)$(gatewaydocdir)
	sed 's|^ExecStart=[^ ]*nightshift-gateway|ExecStart=$(bindir)/nightshift-gateway|; s|^Documentation=.*|Documentation=man:nightshift-gateway(1) file:$(gatewaydocdir)/docs/push-gateway.md|' \
		packaging/systemd/nightshift-gateway.service >$(DESTDIR)$(systemunitdir)/nightshift-gateway.service
	chmod 644 $(DESTDIR)$(systemunitdir)/nightshift-gateway.service
	$(gatewaybinaries)/nightshift-gateway --generate-completion-script bash | sed '1{/^#!/d;}' >$(DESTDIR)$(bashdir)/nightshift-gateway
	$(gatewaybinaries)/nightshift-gateway --generate-completion-script zsh >$(DESTDIR)$(zshdir)/_nightshift-gateway
	$(gatewaybinaries)/nightshift-gateway --generate-completion-script fish >$(DESTDIR)$(fishdir)/nightshift-gateway.fish
	$(gatewaybinaries)/nightshift-gateway manual >$(DESTDIR)$(mandir)/nightshift-gateway.1
	chmod 644 $(DESTDIR)$(mandir)/nightshift-gateway.1
	for file in $(documents); do install -D -m 644 $$file $(DESTDIR)$(gatewaydocdir)/$$file || exit 1; done
	@echo
	@echo 'Installed. It needs a certificate and its key in /etc/nightshift-gateway, tls.pem and tls.key; then:'
	@echo '    systemctl daemon-reload && systemctl enable --now nightshift-gateway && nightshift-gateway doctor'

uninstall-gateway:
	rm -f $(DESTDIR)$(bindir)/nightshift-gateway $(DESTDIR)$(systemunitdir)/nightshift-gateway.service
	rm -f $(DESTDIR)$(bashdir)/nightshift-gateway $(DESTDIR)$(zshdir)/_nightshift-gateway
	rm -f $(DESTDIR)$(fishdir)/nightshift-gateway.fish $(DESTDIR)$(mandir)/nightshift-gateway.1
	rm -rf $(DESTDIR)$(gatewaydocdir)

# DEB_BUILD_PROFILES=pkg.nightshift.nogateway leaves the gateway out.
deb: $(built) $(if $(findstring nogateway,$(DEB_BUILD_PROFILES)),,$(gatewaybuilt))
	@scripts/packages.sh deb
	@BINARIES='$(binaries)' GATEWAYBINARIES='$(gatewaybinaries)' scripts/deb.sh

deb-test:
	@packaging/test-in-chroot.sh --can-run
	@$(MAKE) --no-print-directory deb
	@scripts/packages.sh deb-test
	@BINARIES='$(binaries)' GATEWAYBINARIES='$(gatewaybinaries)' packaging/test-in-chroot.sh

# DEBS names packages. Without it they are built.
machine-test: $(if $(DEBS),,deb)
	@scripts/packages.sh machine
	@DEBS='$(DEBS)' Tests/Machine/run.py --output docs/machine-test.md $(MACHINE)

format:
	$(SWIFT) format --in-place --recursive $(formatted)

lint:
	$(SWIFT) format lint --strict --parallel --recursive $(formatted)
	@scripts/commit-subjects.sh

clean:
	rm -rf .build .build-bench .build-consumers .build-deb .build-icu .build-machine .build-gateway .build-gateway-release .build-gateway-clients Benchmarks/.build
