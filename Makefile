# SPDX-License-Identifier: Apache-2.0
# One Makefile for everything; products in $(BUILD). `make help` lists the targets.

BUILD   ?= .build
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= bpftool
ARCH    ?= $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
PREFIX  ?= /usr/local
DESTDIR ?=
V       ?= 0
VERSION := $(shell sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -1)

# `make asan check`: all that follows with sanitizers, in a folder of its own.
ifneq ($(filter asan,$(MAKECMDGOALS)),)
BUILD  := .build/asan
CFLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
export BUILD CFLAGS
endif

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(patsubst $(CURDIR)/%,%,$(2));)

PKGS     := libbpf libelf zlib libzstd jansson inih liblzma libseccomp libpcre2-8
CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(if $(CI),-Werror)
CPPFLAGS += -D_GNU_SOURCE -DSTOKER_VERSION='"$(or $(VERSION),0)"' -I. -Iuser -I$(BUILD)
ALLFLAGS  = -std=gnu11 $(WARN) $(CPPFLAGS) $(shell pkg-config --cflags $(PKGS)) $(CFLAGS)
LDLIBS    = $(shell pkg-config --libs $(PKGS)) -liberty -lm
BPFFLAGS := -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Werror -I. \
            -idirafter /usr/include/$(shell uname -m)-linux-gnu $(BPF_CPPFLAGS)

LIB_SRC  := $(filter-out user/main.c user/cmd/%,$(sort $(wildcard user/*/*.c)))
BIN_SRC  := $(wildcard user/main.c) $(sort $(wildcard user/cmd/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
FUZZ_SRC := $(filter-out tests/fuzz/replay.c,$(sort $(wildcard tests/fuzz/*.c)))
TGT_SRC  := $(sort $(wildcard tests/targets/*.c))
TOOL_SRC := $(sort $(wildcard tests/names/*.c tests/views/*.c) tests/bench/week.c tests/inline/frames.c tests/tools/maps_of.c \
            tests/tools/rows_check.c tests/tools/rows_pages.c tests/tools/sleepable.c tests/tools/table_check.c tests/tools/thread_times.c tests/tools/write_segments.c tests/vma/generation.c tests/vm/with_caps.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
BIN_OBJ  := $(BIN_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/tests/fuzz/%)
MADE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/made/*.c)))
TOOL_BIN := $(TOOL_SRC:%.c=$(BUILD)/%)
TGT_BIN  := $(TGT_SRC:tests/targets/%.c=$(BUILD)/tests/targets/%)
ASKING   := $(BUILD)/tests/asking
STEPPER  := $(BUILD)/tests/step/step
SKEL     := $(BUILD)/sample.skel.h $(BUILD)/threads.skel.h $(BUILD)/visit.skel.h
PAGE_SRC := user/sink/page
PAGE_JS  := $(addprefix $(PAGE_SRC)/,colour.js legend.js data.js tree.js flame.js heat.js table.js words.js filter.js kinds.js page.js)
PAGE_H   := $(addprefix $(BUILD)/sink/page/,svg.js.h page.html.h) $(BUILD)/http/page/index.html.h

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all static help unit asan fuzz fuzz-afl fuzz-replay check check-long check-vm demo bench lint tidy targets install clean

all: stoker ## build ./stoker (the default)

help: ## list the targets
	@sed -n 's/^\([a-z_.-]*\):.* ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 24

# Another build may have left its own there: `make asan`.
stoker: $(BUILD)/stoker FORCE
	$(Q)cmp -s $< $@ || cp -f $< $@

FORCE:

$(BUILD)/stoker: $(BIN_OBJ) $(BUILD)/libstoker.a
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LDLIBS)

# One file that needs no other, for hosts without our libraries and for empty containers. It shares
# all objects but one, which takes the place of the archive's. What libc can do only with files of
# its own beside it, such as dlopen and getaddrinfo, the linker warns of, and it is an error.
static: $(BUILD)/static/stoker ## build ./stoker-static, which needs no library: without HTTP, debuginfod and top
	$(Q)cp -f $< stoker-static

STATIC_LIBS = $(shell pkg-config --static --libs $(PKGS)) -liberty -lm
STATIC_OBJ := $(BUILD)/static/library.o

$(STATIC_OBJ): user/base/library.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALLFLAGS) -DSTOKER_STATIC -MMD -MP -c $< -o $@

$(BUILD)/static/stoker: $(STATIC_OBJ) $(BIN_OBJ) $(BUILD)/libstoker.a
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -static-pie -Wl,--fatal-warnings $^ -o $@ $(STATIC_LIBS)

$(BUILD)/libstoker.a: $(LIB_OBJ)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c | $(SKEL) $(PAGE_H)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALLFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)$(CLANG) $(BPFFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

# What a page is made of becomes an array: svg.js.h has page_svg_js[].
$(BUILD)/sink/page/page.html.h: $(PAGE_SRC)/page.html $(PAGE_SRC)/page.css $(PAGE_JS) tools/page tools/embed
	@mkdir -p $(@D)
	$(call say,PAGE,$<)tools/page $< $(PAGE_JS) > $(@:.h=) && tools/embed page_page_html < $(@:.h=) > $@

# The daemon's page looks like the profile's: it has that style, and some of its own.
INDEX_SRC := $(addprefix user/http/page/,index.html index.css index.js)
$(BUILD)/http/page/index.html.h: $(INDEX_SRC) $(PAGE_SRC)/page.css tools/page tools/embed
	@mkdir -p $(@D)
	$(call say,PAGE,$<)cat $(PAGE_SRC)/page.css user/http/page/index.css > $(@D)/page.css && \
		cp user/http/page/index.html $(@D)/template.html && \
		tools/page $(@D)/template.html user/http/page/index.js > $(@:.h=) && \
		tools/embed page_index_html < $(@:.h=) > $@

$(BUILD)/sink/page/%.h: $(PAGE_SRC)/% tools/embed
	@mkdir -p $(@D)
	$(call say,EMBED,$<)tools/embed page_$(subst .,_,$*) < $< > $@

$(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@

# What tests are made of: linked where a test asks for it. A fuzzer is led by what is tested alone.
$(BUILD)/tests/made/%.o: ALLFLAGS += -UNDEBUG -Itests/made $(if $(FUZZER),-fno-sanitize=fuzzer-no-link)

$(BUILD)/libmade.a: $(MADE_OBJ)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^

# A test may say in its first lines what its link needs.
link_of = $(shell sed -n '1,9s|^.*LINK: ||p' $(1) | sed 's|\*/||')

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libmade.a $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TEST,$<)$(CC) $(ALLFLAGS) -UNDEBUG -Itests -Itests/made -MMD -MP $(filter-out %.h,$^) \
		-o $@ $(call link_of,$<) $(LDLIBS) -lcmocka

# With FUZZER=1, as tools/fuzz makes them; else to replay files.
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(BUILD)/libmade.a $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(CC) $(ALLFLAGS) -UNDEBUG -Itests/fuzz -Itests/unit -Itests/made -MMD -MP -MF $@.d \
		$< $(if $(FUZZER),-fsanitize=fuzzer,tests/fuzz/replay.c) $(BUILD)/libmade.a \
		$(BUILD)/libstoker.a -o $@ $(call link_of,$<) $(LDLIBS)

# Programs that the tests profile. Each says in its first lines how it wants to be built.
$(BUILD)/tests/targets/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(call say,TARGET,$<)$(CC) $$(sed -n 's|^.*BUILD: ||p' $<) -MMD -MP -MF $@.d $< -o $@ -lpthread

# Programs that show what a part of ours does by itself.
$(TOOL_BIN): $(BUILD)/%: %.c $(BUILD)/libmade.a $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TOOL,$<)$(CC) $(ALLFLAGS) -Itests/made -MMD -MP $(filter-out %.h,$^) -o $@ $(LDLIBS)

# What runs a program one instruction at a time, and walks its stack at each: tests/step/run. It knows
# the registers of x86-64.
$(STEPPER): $(sort $(wildcard tests/step/*.c tests/step/*.h)) $(BUILD)/libmade.a $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TOOL,$@)$(CC) $(ALLFLAGS) -Itests/step -Itests/made $(filter-out %.h,$^) -o $@ $(LDLIBS)

# stoker that records what the sampler hands to the agent, and a program that hands it over again:
# for tests/golden/replay, never installed.
RECORDER := $(BUILD)/tests/tools/stoker-recorder
REPLAY   := $(BUILD)/tests/tools/replay
RECORDED := agent_open agent_profile sampler_open sampler_poll sampler_scan sampler_drain \
            tally_leaf tally_count tally_key timeline_tick object_take \
            opener_call_perf_map fd_read_path code_events_poll cgroup_tree_scan
comma    := ,
wrap      = $(addprefix -Wl$(comma)--wrap=,$(1))

$(RECORDER): tests/tools/record_handover.c tests/tools/handover.c tests/tools/handover.h $(BIN_OBJ) $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TOOL,$<)$(CC) $(ALLFLAGS) $(call wrap,$(RECORDED)) $(filter-out %.h,$^) -o $@ $(LDLIBS)

$(REPLAY): $(addprefix tests/tools/,replay.c replay_sampler.c replay_visitor.c replay_host.c replay_world.h handover.c handover.h) \
           $(BUILD)/libmade.a $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TOOL,$<)$(CC) $(ALLFLAGS) -Itests/made $(call wrap,fd_read_path fstat) $(filter-out %.h,$^) -o $@ $(LDLIBS)

# stoker with little memory for stacks: for tests/hostile, never installed.
$(BUILD)/tests/tools/stoker-short: tests/tools/short.c $(BIN_OBJ) $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TOOL,$<)$(CC) $(ALLFLAGS) $(call wrap,sampler_open) $^ -o $@ $(LDLIBS)

# stoker that records what threads wait for, in the place of the time that they run: for tests.
$(BUILD)/tests/tools/stoker-visits: tests/tools/visits.c $(BIN_OBJ) $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,TOOL,$<)$(CC) $(ALLFLAGS) $(LDFLAGS) $(call wrap,sampler_open sampler_free sampler_drain tally_count tally_took) $^ -o $@ $(LDLIBS)

# What parsing in the agent itself would cost: for tools/bench, never installed.
$(BUILD)/tests/bench/stoker-inside: tests/bench/inside.c $(BIN_OBJ) $(BUILD)/libstoker.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(ALLFLAGS) -Itests/made $(LDFLAGS) $^ -o $@ $(LDLIBS)

$(BUILD)/tests/vma/%.bpf.o: tests/vma/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)$(CLANG) $(BPFFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

# stoker whose BPF object asks for a type that no kernel has, too: for tests of loading, never installed.
$(ASKING)/sample.bpf.o: tests/e2e/asking.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)$(CLANG) $(BPFFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

# All that know where the skeleton has its maps and variables.
$(ASKING)/stoker-asking: $(shell grep -l 'sample\.skel\.h' user/*/*.c) $(ASKING)/sample.skel.h $(BIN_OBJ) $(BUILD)/libstoker.a
	$(call say,LINK,$@)$(CC) -I$(ASKING) $(ALLFLAGS) $(LDFLAGS) $(filter-out %.h,$^) -o $@ $(LDLIBS)

unit: $(UNIT_BIN) ## tests that need no root, in under a minute
	$(Q)tools/run-unit $(UNIT_BIN)

asan: $(BUILD)/stoker ## `make asan unit`, `make asan check`: with AddressSanitizer and UBSan

targets: $(TGT_BIN) $(TOOL_BIN) $(RECORDER) $(REPLAY) $(BUILD)/tests/tools/stoker-short $(BUILD)/tests/tools/stoker-visits $(ASKING)/stoker-asking $(BUILD)/tests/vma/generation.bpf.o $(BUILD)/tests/bench/stoker-inside \
         $(if $(filter x86,$(ARCH)),$(STEPPER))

fuzz: targets ## each parser with random bytes for FUZZ_SECONDS (60), or those in FUZZ
	$(Q)BUILD=$(BUILD) tools/fuzz $(FUZZ)

fuzz-afl: targets ## the whole worker, or those in FUZZ, under AFL++ for FUZZ_SECONDS (60)
	$(Q)BUILD=$(BUILD) tools/fuzz --afl $(FUZZ)

fuzz-replay: targets $(FUZZ_BIN) ## what fuzzing found, and its seeds, once
	$(Q)BUILD=$(BUILD) tools/fuzz --replay

tidy: $(SKEL) $(PAGE_H) ## static analysis: clang-tidy, cppcheck, gcc -fanalyzer; exceptions are in tools/tidy and .clang-tidy
	$(Q)tools/tidy

lint: $(BUILD)/libstoker.a ## the house rules: direction of includes, length of functions and files, words
	$(Q)tools/check-layers --objects $(BUILD) && tools/check-length && tools/check-words

check: ## everything this machine can test, or the tests in FILES (root; installs what it needs)
	$(Q)tools/check $(FILES)

check-long: ## the campaigns, or those in NAMES: hours of fuzzing, soak, ...; into tests/CAMPAIGNS.md (root)
	$(Q)tools/check-long $(NAMES)

check-vm: ## boot kernels in QEMU and let each take the BPF programs (root)
	$(Q)tools/check-vm

bench: stoker targets ## what it costs, beside perf, bpftrace and a frame-pointer profiler (root; installs them)
	$(Q)tools/deps bench && tools/bench

demo: ## install, build, profile this host for ten seconds (root)
	$(Q)tools/demo

compile_commands.json: Makefile $(LIB_SRC) $(BIN_SRC) ## for editors and clang-tidy
	$(Q)tools/gen-compile-commands '$(subst ','\'',$(CC) $(ALLFLAGS))' $(LIB_SRC) $(BIN_SRC) > $@

install: stoker ## to $(DESTDIR)$(PREFIX)
	install -D -m 0755 stoker $(DESTDIR)$(PREFIX)/bin/stoker
	install -D -m 0644 user/man/stoker.1 $(DESTDIR)$(PREFIX)/share/man/man1/stoker.1
	install -D -m 0644 user/man/stoker-account.5 $(DESTDIR)$(PREFIX)/share/man/man5/stoker-account.5
	install -D -m 0644 user/man/stoker-file.5 $(DESTDIR)$(PREFIX)/share/man/man5/stoker-file.5
	install -D -m 0644 user/man/stoker-tables.5 $(DESTDIR)$(PREFIX)/share/man/man5/stoker-tables.5
	install -D -m 0644 user/man/stoker-daemon.8 $(DESTDIR)$(PREFIX)/share/man/man8/stoker-daemon.8
	install -D -m 0644 tools/deploy/stoker.service $(DESTDIR)$(PREFIX)/lib/systemd/system/stoker.service
	sed -i 's|/usr/local/|$(PREFIX)/|' $(DESTDIR)$(PREFIX)/lib/systemd/system/stoker.service

clean: ## remove what was built
	rm -rf $(BUILD) stoker stoker-static compile_commands.json

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
