# SPDX-License-Identifier: Apache-2.0
"""Can this caller have called this callee? Is this the root of a thread? Is the leaf in its symbol?

A verdict is OK, UNCHECKED (the code is not to be had, or nothing is known of it) or a reason, a
text. Doubt is UNCHECKED or OK: a reason says that the pair cannot be.
"""
import functools
import re
import subprocess

from . import code, image as images, pprof

OK, UNCHECKED = 'ok', 'unchecked'
CHAIN_MAX = 8        # tail jumps in a row
VISITED_MAX = 256    # functions in one search
SOURCES_MAX = 64     # functions that may jump to one
ENTRY_BYTES_MAX = 128  # of the loader's or musl's entry, which may have no symbol with a size
ROOTS = re.compile(r'(_start|_dl_start_user|_?_?clone3?|__start_context|make_fcontext|StgRun|gogo|'
                   r'_rt0_amd64(_linux)?(_lib)?|runtime\.(goexit|mstart|rt0_go|mcall|clone)(\.abi0)?|'
                   r'runtime\.kickoff)$')  # the last is gccgo's
# Calls that the runtime makes at any instruction, and where a goroutine "returns" to.
INJECTED = re.compile(r'runtime\.(asyncPreempt|sigpanic0?|debugCallV[12])(\.abi0)?$')
LOADER = re.compile(r'ld(-linux|-musl|\d|64)?[-.].*so')
LEFT_AT = re.compile(r'runtime\.morestack(\.abi0)?$')
LEAVES = re.compile(r'runtime\.(gopreempt_m|goschedImpl|preemptPark|schedule)(\.abi0)?$')
FIBER_TOP = re.compile(r'make_fcontext$')  # a fiber's first function "returns" into it
OWN_STARTS = re.compile(r'(__)?clone3$')  # glibc gives it functions of its own only
START_MAIN = re.compile(r'__libc_start_call_main|libc_start_main_stage2')  # these call nothing else
SPLIT = re.compile(r'__morestack|.*indirect_thunk')
# Before they jump, libgcc's write what the frame that they go to has saved over what they saved themselves.
JUMPS = re.compile(r'_Unwind_(Resume|RaiseException|ForcedUnwind|Resume_or_Rethrow)(@.*)?$')
CLONES = re.compile(r'( \[clone [^\]]*\])+$|(\.(cold|part|constprop|isra|llvm|lto_priv|localalias)(\.\d+)?)+$')
OFFSET = re.compile(r'.*\+0x[0-9a-f]+$|\[.*\]$|\?$')


class Judge:
    """Knows the files of all profiles that are judged together."""

    def __init__(self):
        self.files = {}     # (path, build ID) → Image, or why not
        self.pairs = {}
        self.pointed_at = {}
        self.parents = {}
        self.unread = set()  # keys of parents that may have more
        self.jits = {}  # pid → kept.JitImage

    def find_file(self, path):
        """Of a process's mapping. The build ID is not known: of a profile's files the first, or what is there."""
        found = next((f for (name, _), f in self.files.items() if name == path), None) or \
            self.image(pprof.Place(path, '', 0, ()))
        return found if isinstance(found, images.Image) else None

    def image(self, place):
        key = place.path, place.build_id
        if key not in self.files:
            try:
                self.files[key] = images.load(*key) if place.path else 'not in a file'
            except images.Unusable as why:
                self.files[key] = str(why)
        found = self.files[key]
        return found if isinstance(found, images.Image) and found.has(place.address) else None

    def known(self):
        return [f for f in self.files.values() if isinstance(f, images.Image)]

    def meet(self, samples):
        """Opens all files: a symbol may be defined in any of them."""
        for sample in samples:
            for place in sample.user():
                self.image(place)

    def meet_mapped(self):
        """Opens what sampled processes had mapped, too: a function there may jump to another file, unseen."""
        for jit in self.jits.values():
            for _, _, _, path in jit.process.maps:
                self.find_file(path)

    # ---- where a call leads -------------------------------------------------------------------

    def at_slot(self, image, slot):
        """[(image, address)] at the other end of a pointer at a fixed place; None: it may change."""
        if slot not in image.relocations:
            value = int.from_bytes(image.read(slot, 8), 'little')
            if image.fixed and image.section_of(slot).startswith('.got') and image.is_code(value):
                return [(image, value)]
            return None
        value, kind = image.relocations[slot]
        if kind == 'address':
            return [(image, value)] if image.section_of(slot).startswith(('.got', '.data.rel.ro')) else None
        if kind == 'resolver':
            return self.resolved(image, value)
        found, name = [], value.split('@')[0]
        if kind == 'pointer':
            found = [(other, other.stubs[name]) for other in self.known() if name in other.stubs]
        for other in self.known():
            for address, symbol in other.exports.get(name, ()):
                if symbol == images.IFUNC:
                    resolved = self.resolved(other, address)
                    if resolved is None:
                        return None
                    found += resolved
                else:
                    found.append((other, address))
        return found or None

    @functools.lru_cache(maxsize=4096)
    def resolved(self, image, resolver):
        """What an IFUNC's resolver chooses from: the functions of which it takes the address."""
        bounds = image.function(resolver)
        if not bounds:
            return None
        found, start = [], bounds[0]
        bytes_ = image.read(start, bounds[1] - start)
        for match in images.LEA.finditer(bytes_):
            target = start + match.end() + 4 + int.from_bytes(match.group(1), 'little', signed=True)
            if image.is_code(target):
                found.append((image, target))
        return found or None

    def reach(self, image, target, callee, at):
        """OK: a call of `target` can lead to the function at `at`. 'pointer': over a pointer that may
        be anything. '': it cannot."""
        entries, bounds = callee.entries(at), callee.function(at)
        open_, seen, pointer = [(image, target)], set(), ''
        for _ in range(CHAIN_MAX):
            next_ = []
            for where, address in open_:
                if where is callee and (address in entries or (bounds and bounds[0] <= address < bounds[1])):
                    return OK
                bounds_there = where.function(address)
                if not bounds_there:
                    pointer = 'pointer'
                    continue
                if (where, bounds_there) in seen:
                    continue
                if len(seen) >= VISITED_MAX:
                    return 'pointer'
                seen.add((where, bounds_there))
                flow = code.flow(where, *bounds_there)
                stub = where.is_plt(address)  # its own jump leads to the loader: is_lazy() knows
                if stub and where is callee and where.is_first_of_plt(at):
                    return OK
                next_ += [(where, jump) for jump in flow.jumps if not stub]
                if flow.falls and not stub:
                    next_.append((where, bounds_there[1]))
                for slot in flow.slots:
                    if self.is_lazy(where, slot, callee, at):
                        return OK
                    there_ = self.at_slot(where, slot)
                    if there_ is None:
                        pointer = 'pointer'
                    next_ += there_ or []
                if flow.indirect or any(SPLIT.match(n) for n in where.names(address)):
                    pointer = 'pointer'
            open_ = next_
            if not open_:
                return pointer
        return pointer or 'pointer'

    @staticmethod
    def is_lazy(image, slot, callee, at):
        """The first call through a PLT goes to the loader, which jumps on."""
        if image.relocations.get(slot, ('', ''))[1] != 'call' or not LOADER.match(callee.base):
            return False
        names = callee.names(at)
        return not names or any(n.startswith('_dl_runtime') for n in names)

    def pointed(self, image, callee, at):
        """Can a pointer lead to the function at `at`? OK: its address is in a file's data or code, or
        it is exported to another file, or a function of that kind jumps to it. '': none of these."""
        bounds = callee.function(at)
        if not bounds:
            return UNCHECKED
        key = image is callee, callee, bounds
        if key not in self.pointed_at:
            self.pointed_at[key] = self.find_pointer(image, callee, bounds)
        return self.pointed_at[key]

    def find_pointer(self, image, callee, bounds):
        open_, seen = [(callee, bounds)], {(callee, bounds)}
        for _ in range(CHAIN_MAX):
            next_ = []
            for where, there in open_:
                if self.is_pointed(image, where, there[0]):
                    return OK
                if len(seen) >= VISITED_MAX:
                    return UNCHECKED
                next_ += self.jumping_to(where, there)
            open_ = [one for one in dict.fromkeys(next_) if one not in seen]
            seen.update(open_)
        return UNCHECKED if open_ or any(one in self.unread for one in seen) else ''

    @functools.lru_cache(maxsize=65536)
    def is_pointed(self, image, callee, start):
        names = callee.names(start)
        if callee.section_of(start) in ('.init', '.fini') or '[vdso]' in (image.path, callee.path):
            return True
        if any(callee.hands_out(entry) for entry in callee.entries(start)):
            return True
        if LOADER.match(image.base) and any((start, images.IFUNC) in callee.exports.get(n, ()) for n in names):
            return True  # a resolver
        if image is not callee and any(n in callee.exports and self.may_look_up(callee, n) for n in names):
            return True
        return any(n in other.wanted_names for other in self.known() for n in names)

    @functools.lru_cache(maxsize=65536)
    def may_look_up(self, callee, name):
        """Can dlsym have found it? Of a file that others are linked with, or a program, only by a name
        that is in a file. A plugin's may be put together."""
        known = self.known()
        if not callee.is_program and not any(callee.soname in other.needed for other in known):
            return True
        return any(other.has_text(name) for other in known)

    def jumping_to(self, image, bounds):
        """(image, bounds) of functions that jump into this one, over a PLT too, or run on into it."""
        key = image, bounds
        if key in self.parents:
            return self.parents[key]
        found = set()
        for place in image.jumps_to(*bounds):
            there = image.function(place)
            if len(found) >= SOURCES_MAX:
                self.unread.add(key)
                break
            if there and (image, there) not in found and \
                    any(bounds[0] <= jump < bounds[1] for jump in code.flow(image, *there).jumps):
                found.add((image, there))
        names = [n for n in image.names(bounds[0]) if n in image.exports]
        for other in self.known() if names else ():
            for place in other.jumps_over(names):
                there = other.function(place)
                if there:
                    found.add((other, there))
        for there in image.neighbours(bounds):
            flow = code.flow(image, *there)
            if (flow.falls and there[1] == bounds[0]) or any(bounds[0] <= jump < bounds[1] for jump in flow.jumps):
                found.add((image, there))
        self.parents[key] = sorted(found, key=lambda one: one[1])
        return self.parents[key]

    # ---- verdicts -----------------------------------------------------------------------------

    def pair(self, caller, callee):
        """Of two neighbours in a stack: the caller's place is its return address minus one."""
        key = caller.path, caller.build_id, caller.address, callee.path, callee.build_id, callee.address
        if key not in self.pairs:
            self.pairs[key] = self.judge_pair(caller, callee)
        return self.pairs[key]

    def judge_pair(self, caller, callee):
        above, below = self.image(caller), self.image(callee)
        if above is None:
            return UNCHECKED
        at = above.vaddr(caller.address)
        if at is None:
            return 'the caller is not in code'
        to = below.vaddr(callee.address) if below else None
        if below and to is None:
            return 'the callee is not in code'
        to = self.covered(below, to) if below else None
        if below and code.is_in_sigreturn(below.read(to - code.SIGRETURN_BYTES, 32), code.SIGRETURN_BYTES):
            return OK  # a signal: the caller was interrupted at any instruction
        names = above.names(at)
        if below and any(INJECTED.match(n) for n in below.names(to)):
            return OK
        if any(n.startswith('runtime.goexit') or FIBER_TOP.match(n) for n in names):
            return OK
        if code.is_sigreturn(above.read(at + 1, 16)):
            return self.by_pointer(above, below, to)
        texts = above.reads(at + 1 - code.CALL_BYTES_MAX, code.CALL_BYTES_MAX)
        calls = [call for text in texts for call in code.calls_before(text, at + 1)]
        if not texts:
            return UNCHECKED
        if not calls and above.may_land(at + 1):
            return OK
        if not calls and self.begins_root(above, at + 1):
            return self.by_pointer(above, below, to)
        if not calls:
            return 'no call before the return address' if above.knows(at) else UNCHECKED
        if any(SPLIT.match(n) for n in names):
            return OK
        if below and any(JUMPS.match(n) for n in below.names(to)):
            return UNCHECKED
        verdicts = [self.judge_call(above, call, below, to) for call in calls]
        return next((v for v in verdicts if v in (OK, UNCHECKED)), verdicts[0])

    @staticmethod
    def covered(image, at):
        """The place, or the next one where nothing covers it and a function begins there: a return address
        that no call made, but a runtime that preempts before the first instruction, minus one."""
        next_ = None if image.function(at) else image.function(at + 1)
        return at + 1 if next_ and next_[0] == at + 1 else at

    @staticmethod
    def begins_root(image, at):
        """A coroutine's first function returns to the first instruction of one that no call led to."""
        bounds = image.function(at)
        return bool(bounds) and bounds[0] == at and any(ROOTS.match(n) for n in image.names(at))

    def by_pointer(self, image, callee, at):
        if callee is None:
            return UNCHECKED
        if image.is_jit or callee.is_jit:
            return OK  # a JIT knows all addresses, and hands out its own
        return self.pointed(image, callee, at) or 'no pointer leads to the function that is said to be called'

    def judge_call(self, image, call, callee, at):
        if callee is None:
            return UNCHECKED
        if call.slot:
            if self.is_lazy(image, call.slot, callee, at):
                return OK
            targets = self.at_slot(image, call.slot)
            if targets is None:
                return self.by_pointer(image, callee, at)
        elif call.target:
            targets = image.targets(call.target)
            if not targets:
                return UNCHECKED
        elif any(START_MAIN.match(n) for n in image.names(call.address)):
            mains = [self.main_of(p) for p in self.known() if p.is_program and (p is callee or not callee.is_program)]
            if not mains or None in mains:
                return self.by_pointer(image, callee, at)
            targets = [one for main in mains for one in main]
        elif image is not callee and any(OWN_STARTS.match(n) for n in image.names(call.address)):
            return 'a thread begins in a function of another file'
        else:
            return self.by_pointer(image, callee, at)
        verdicts = [self.reach(where, target, callee, at) for where, target in targets]
        if OK in verdicts:
            return OK
        if 'pointer' in verdicts:
            return self.by_pointer(image, callee, at)
        where, target = targets[0]
        return f'the call leads to {self.describe(where, target)}'

    @functools.lru_cache(maxsize=64)
    def main_of(self, program):
        """[(image, address)]: the function that the entry code gives to libc as its first argument."""
        bounds = program.function(program.entry) or (program.entry, program.entry + 64)
        for address, size, mnemonic, text in code.sweep(program.read(bounds[0], bounds[1] - bounds[0]), bounds[0]):
            match = code.FIRST_ARGUMENT.match(f'{mnemonic} {text}')
            if not match:
                continue
            target, slot = code.operand(address, size, match.group(1))
            slot = slot or code.operand(address, size, 'qword ptr ' + match.group(1))[1]
            if mnemonic == 'mov' and slot:
                return self.at_slot(program, slot)
            target = target or slot
            return [(program, target)] if program.is_code(target) else None
        return None

    def left_goroutine(self, stack):
        """A Go thread that left its goroutine where that was to grow: below is nothing any more."""
        names = [n for place in stack if self.image(place)
                 for n in self.image(place).names(self.image(place).vaddr(place.address) or 0)]
        return any(LEFT_AT.match(n) for n in names) and any(LEAVES.match(n) for n in names)

    def is_put_on_top(self, place, pid):
        """Does a stack that the process made begin here? Known where `record --check` kept its words."""
        return pid in self.jits and self.jits[pid].is_put_on_top(place)

    def root(self, stack, pid=0):
        """Of the outermost place of a stack that is called complete."""
        place = stack[-1]
        if pid in self.jits and self.jits[pid].is_outermost(place):
            return OK
        image = self.image(place)
        if image is None:
            return UNCHECKED if place.path else 'code without a file'
        at = image.vaddr(place.address)
        if at is None:
            return 'not in code'
        bounds = image.function(at)
        if any(ROOTS.match(n) for n in image.names(at)) or self.begins_root(image, at + 1):
            return OK
        if bounds and bounds[0] <= image.entry < bounds[1] or image.entry <= at < image.entry + ENTRY_BYTES_MAX:
            return OK
        if code.is_thread_exit(image.read(at + 1, 16)):
            return OK
        if bounds and bounds[1] - bounds[0] < 256:  # a thread that did not call yet
            text = image.read(bounds[0], bounds[1] - bounds[0])
            if any(code.is_thread_exit(text[i:i + 16]) for i in range(len(text))):
                return OK
        if any(LEFT_AT.match(n) for n in image.names(at)) and self.left_goroutine(stack):
            return OK
        return 'not an entry of a process, a thread or a runtime' if image.knows(at) else UNCHECKED

    def leaf(self, place):
        """Is the address inside the symbol that names it?"""
        image, name = self.image(place), place.name
        if image is None or image.is_jit or OFFSET.match(name):
            return UNCHECKED
        at = image.vaddr(place.address)
        if at is None:
            return 'not in code'
        if name.endswith('@plt'):
            return OK if image.is_plt(at) else f'{name} is not a PLT'
        wanted = bare(name)
        places = [at, at - 2] if code.is_syscall(image.read(at - 2, 2)) else [at]  # pc is after it in the kernel
        here = [n for one in places for s, e, n in image.symbols_at(one) + image.unsized_at(one)
                if s <= one < e or s == one]
        if wanted in {bare(n) for n in here} or wanted in bare_all(tuple(here)):
            return OK
        if name == '_start' and image.entry <= at < image.entry + ENTRY_BYTES_MAX:
            return OK
        elsewhere = image.by_name.get(name)
        if elsewhere is None and wanted not in bare_names(image):
            return UNCHECKED  # by debug information, or a runtime's own tables
        return f'outside of {name}, in {self.describe(image, at)}'

    @staticmethod
    def describe(image, at):
        start, _, name = max(image.symbols_at(at), default=(0, 0, ''))
        return f'{name}+{at - start:#x}' if name else f'{image.base}+{at:#x}'


def bare(name):
    """Without what compilers add to a copy of a function, and without the version."""
    return CLONES.sub('', name.split('@')[0])


@functools.lru_cache(maxsize=65536)
def bare_all(names):
    """Demangled, as the profile has them."""
    if not names:
        return frozenset()
    out = subprocess.run(['c++filt'], input='\n'.join(names), capture_output=True, text=True, check=True).stdout
    return frozenset(bare(line) for line in out.split('\n'))


@functools.lru_cache(maxsize=64)
def bare_names(image):
    return bare_all(tuple(n.split('@')[0] for n in image.by_name))
