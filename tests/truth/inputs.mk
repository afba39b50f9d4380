# SPDX-License-Identifier: Apache-2.0
# What the programs of many.table work on, made where it is needed: make -C DIR -f .../inputs.mk FILE...
# Text comes from functions of the script beside this file.

HERE := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
REPO := $(abspath $(HERE)/../..)
REAL := $(REPO)/tests/real
JITS := $(REPO)/tests/runtimes
INPUTS := $(HERE)inputs
PRINTED := many.c words.cc many.asm movie.y4m picture.ppm sound.wav graph.dot lines work.cnf work.smt2 folded \
	work.py work.lua work.php work.tcl work.ml work.hs work.pas work.v

.DELETE_ON_ERROR:

$(PRINTED): $(INPUTS)
	$(INPUTS) print $@ >$@
b:
	head -qc 3000000 $$(readlink -f $$(command -v perl gdb)) /bin/bash >$@
n: b
	seq 300000 | shuf --random-source=b >$@
t:
	cat $(REPO)/user/*/*.c >$@

many.s: many.c
	gcc -O0 -S $< -o $@
many.o: many.c
	gcc -O0 -g -c $< -o $@
words.o: words.cc
	g++ -O0 -g -c $< -o $@
many.bc: many.c
	clang -O0 -Xclang -disable-O0-optnone -emit-llvm -c $< -o $@
picture.jpg: picture.ppm
	cjpeg $< >$@
picture.png: picture.ppm
	/usr/bin/convert -resize 300x $< $@
movie.264: movie.y4m
	x264 --quiet --preset ultrafast -o $@ $<
movie.ivf: movie.y4m
	aomenc --quiet --cpu-used=8 --limit=20 --ivf -o $@ $<

rust-program: $(REAL)/busy.rs
	$(rustc) -O $< -o $@
go-program: $(REAL)/busy.go
	GOCACHE=$(CURDIR)/gocache GO111MODULE=off GOTOOLCHAIN=local $(go) build -o $@ $<
go-crowd: $(REAL)/crowd.go
	GOCACHE=$(CURDIR)/gocache GO111MODULE=off GOTOOLCHAIN=local $(go) build -o $@ $<
gccgo-program: $(REAL)/split.go
	$(gccgo) -O2 $< -o $@
ocaml-program: work.ml
	ocamlopt $< -o $@
ghc-program: work.hs
	ghc -v0 -O2 -outputdir ghc $< -o $@
fpc-program: work.pas
	mkdir -p fpc && fpc -v0 -O2 -FUfpc -o$@ $<
mix: $(REAL)/mix.c
	gcc -O2 $< -o $@ -lm -lpthread
throw: $(REAL)/throw.cc
	g++ -O2 $< -o $@ -lpthread
fibers: $(REAL)/fibers.cc
	g++ -O2 $< -o $@ -lboost_fiber -lboost_context -pthread
musl-static: $(REAL)/mix.c
	musl-gcc -static -O2 $< -o $@ -lm -lpthread
musl-dynamic: $(REAL)/mix.c
	musl-gcc -O2 $< -o $@ -lm -lpthread
Mill.exe: $(JITS)/Mill.cs $(JITS)/Market.cs
	mcs -out:$@ $^
java: $(JITS)/Mill.java
	$(javac) -d $@ $<

git: t n
	$(INPUTS) git $@
postgres mariadb:
	$(INPUTS) data $@
