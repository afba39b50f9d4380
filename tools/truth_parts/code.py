# SPDX-License-Identifier: Apache-2.0
"""x86-64 instructions: the call before a return address, and where a function jumps to.

Calls are decoded backwards from the return address, jumps by one sweep over the function. Nothing
is known of the stack: an indirect jump counts as a tail call only after the frame was taken down.
"""
import functools
import re
from dataclasses import dataclass, field

import capstone

CALL_BYTES_MAX = 9  # notrack, REX, FF, ModRM, SIB, disp32
FUNCTION_BYTES_MAX = 1 << 18
WINDOW = 5  # instructions before a jump: the end of an epilogue, or the load from a jump table
DECODER = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
DIRECT = re.compile(r'0x[0-9a-f]+$')
SLOT = re.compile(r'qword ptr \[rip ([+-]) (0x[0-9a-f]+|\d+)\]$')
GROWS = re.compile(r'push|sub rsp|enter')
SHRINKS = re.compile(r'pop|add rsp|leave|lea rsp|mov rsp')
TABLE = re.compile(r'\[r\w+\*8 \+ 0x[0-9a-f]+\]')
FIELD = re.compile(r'qword ptr \[r\w+( \+ 0x[0-9a-f]+)?\]$')  # of an object: jump tables have an index
FIRST_ARGUMENT = re.compile(r'(?:lea|mov) (?:rdi|edi), (?:qword ptr )?(0x[0-9a-f]+|\[rip .*\])$')
SIGRETURN = b'\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05'
SIGRETURN_SHORT = b'\xb8\x0f\x00\x00\x00\x0f\x05'
SIGRETURN_BYTES = 9
PREFIXES = ('notrack ', 'bnd ')


@dataclass(frozen=True)
class Call:
    """target: of a direct call; slot: where the address is, of a call through a fixed place; neither:
    through a register or memory."""
    address: int
    target: int = 0
    slot: int = 0

    @property
    def is_indirect(self):
        return not self.target and not self.slot


@dataclass
class Flow:
    """How control leaves a function, other than by return."""
    jumps: set = field(default_factory=set)
    slots: set = field(default_factory=set)
    calls: dict = field(default_factory=dict)
    indirect: bool = False  # a tail call through a register
    falls: bool = False     # it runs on into the next function
    whole: bool = True      # all of it was decoded


def operand(address, size, text):
    """(target, slot) of a jump's or call's operand."""
    if DIRECT.match(text):
        return int(text, 16), 0
    match = SLOT.match(text)
    if match:
        distance = int(match.group(2), 0)
        return 0, (address + size + (distance if match.group(1) == '+' else -distance)) & (1 << 64) - 1
    return 0, 0


def plain(mnemonic):
    for prefix in PREFIXES:
        if mnemonic.startswith(prefix):
            mnemonic = mnemonic[len(prefix):]
    return mnemonic


def calls_before(code, end):
    """Each call that may end at `end`, whose code bytes end `code`. Prefixes are part of the call."""
    found = {}
    for size in range(min(CALL_BYTES_MAX, len(code)), 1, -1):
        piece = code[-size:]
        if piece[0] != 0xe8 and 0xff not in piece[:4]:
            if 0xe8 not in piece[:3]:
                continue
        for address, length, mnemonic, text in DECODER.disasm_lite(piece, end - size, 1):
            if length == size and plain(mnemonic) == 'call':
                target, slot = operand(address, length, text)
                found[target, slot] = Call(address, target, slot)
    return list(found.values())


def is_sigreturn(code):
    return code.startswith((SIGRETURN, SIGRETURN_SHORT))


def is_in_sigreturn(code, at):
    """Is the pc at `at` one of the trampoline's, or its return address minus one?"""
    return any(is_sigreturn(code[at - back:]) for back in (-1, 0, 5, 7, 9))


def is_syscall(code):
    return code == b'\x0f\x05'


def is_thread_exit(code):
    """After the call of a thread's first function, glibc and musl: exit(its result)."""
    return bool(re.match(rb'(?:\x48?\x89\xc7|\x31\xff|\x97)(?:\xb8\x3c\x00\x00\x00|\x31\xc0\xb0\x3c|\x6a\x3c\x58|\x31\xd2\xb8\x3c\x00\x00\x00)\x0f\x05',
                         code))


def sweep(code, start):
    """(address, size, mnemonic, operands) of each instruction; bytes that are none are left out."""
    at = 0
    while at < len(code):
        for address, size, mnemonic, text in DECODER.disasm_lite(code[at:], start + at):
            at = address + size - start
            yield address, size, plain(mnemonic), text
        at += 1


def is_switch(text, before):
    """A jump table: of offsets, which are added to its address, or of addresses."""
    return bool(TABLE.search(text)) or any(w.startswith('movsxd') and '*4' in w for w in before)


def is_loaded(register, before):
    """Of a virtual function: the register has a field of an object. Jump tables have an index."""
    loads = [w for w in before if w.startswith(f'mov {register}, ')]
    return bool(loads) and bool(FIELD.search(loads[-1]))


def is_unled(image, start, end, to):
    """Does neither a jump of the function nor the code before it lead to this instruction?"""
    before = ''
    for address, size, mnemonic, text in sweep(image.read(start, end - start), start):
        if address == to and before not in ('jmp', 'ret'):
            return False
        if mnemonic.startswith('j') and operand(address, size, text)[0] == to:
            return False
        before = mnemonic if address < to else before
    return before in ('jmp', 'ret')


@functools.lru_cache(maxsize=16384)
def flow(image, start, end):
    out = Flow()
    if end - start > FUNCTION_BYTES_MAX:
        return Flow(indirect=True, whole=False)
    grown, recent, last = False, [], ''
    for address, size, mnemonic, text in sweep(image.read(start, end - start), start):
        words = f'{mnemonic} {text}'
        if mnemonic == 'call':
            out.calls[address + size] = operand(address, size, text)
        elif mnemonic.startswith('j'):
            target, slot = operand(address, size, text)
            if slot:
                out.slots.add(slot)
            elif target and not start <= target < end:
                out.jumps.add(target)
            elif not target and not is_switch(text, recent) and \
                    (not grown or FIELD.match(text) or is_loaded(text, recent) or any(SHRINKS.match(w) for w in recent)):
                out.indirect = True
        grown = grown or bool(GROWS.match(words))
        recent = [] if mnemonic in ('jmp', 'ret') else recent[-WINDOW + 1:] + [words]
        if mnemonic not in ('nop', 'int3', 'data16', 'xchg'):
            last = mnemonic
    out.falls = last not in ('jmp', 'ret', 'ud2', 'hlt', 'call', '')
    return out
