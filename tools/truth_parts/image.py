# SPDX-License-Identifier: Apache-2.0
"""An ELF file as the linker and the compiler left it: functions, symbols, relocations, pointers.

Functions are the ranges of FDEs and of sized symbols, and CIEs name personality routines. No rule of CFI
is read: what the profiler under test computes from them must not prove itself. Addresses are the file's own (vaddr).
"""
import bisect
import functools
import os
import re
import struct

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from . import code

FILE_BYTES_MAX = 1 << 30
NAME_BYTES_MAX = 1 << 14
FUNC, IFUNC, NOTYPE = 2, 10, 0
RELATIVE, IRELATIVE, JUMP_SLOT, GLOB_DAT, ABS64 = 8, 37, 7, 6, 1
# lea disp32(%rip), 64-bit register
LEA = re.compile(rb'[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](?=(....))', re.S)
# jmp rel32, jcc rel32
JUMP = re.compile(rb'(?:\xe9|\x0f[\x80-\x8f])(?=(....))', re.S)
SLOT_JUMP = re.compile(rb'\xff\x25(?=(....))', re.S)  # jmp *disp32(%rip)
NEAR = 256
UNSIZED_BYTES_MAX = 1 << 12
TAGS = 8
FORMS = {0: '<q', 2: '<H', 3: '<I', 4: '<q', 10: '<h', 11: '<i', 12: '<q'}  # DW_EH_PE_*
COMPUTED = re.compile(r'Builtins_|go:|type:')  # entries that a runtime finds by a table of offsets


class Unusable(Exception):
    """Why a file cannot be judged."""


def records(form, data):
    """Whoever made a file may have cut a table."""
    return struct.iter_unpack(form, data[:len(data) // struct.calcsize(form) * struct.calcsize(form)])


def name_at(strings, at):
    return strings[at:at + NAME_BYTES_MAX].split(b'\0', 1)[0].decode('utf-8', 'replace')


class Image:
    def __init__(self, path, data, elf):
        self.path, self.data, self.elf = path, data, elf
        self.entry, self.fixed = elf['e_entry'], elf['e_type'] == 'ET_EXEC'
        self.loads = [(s['p_offset'], s['p_filesz'], s['p_vaddr'], s['p_flags'] & 1)
                      for s in elf.iter_segments() if s['p_type'] == 'PT_LOAD']
        self.sections = {s.name: s for s in elf.iter_sections()}
        self.symbols, self.by_name, self.exports = [], {}, {}
        self.stubs = {}  # name → PLT entry whose address all files take for the function (psABI §5.2)
        self.ends = {}
        self.read_symbols()
        self.starts, self.fdes, self.fde_size = self.read_fdes()

    @property
    def base(self):
        return os.path.basename(self.path)

    # ---- bytes -----------------------------------------------------------------------------

    def vaddr(self, offset):
        """Of a file offset in code; None: not in code."""
        for at, size, vaddr, executable in self.loads:
            if executable and at <= offset < at + size:
                return offset - at + vaddr
        return None

    def read(self, vaddr, size):
        for at, filesz, start, _ in self.loads:
            if start <= vaddr < start + filesz:
                begin = vaddr - start + at
                return self.data[begin:min(begin + size, at + filesz)]
        return b''

    def is_code(self, vaddr):
        return any(x and start <= vaddr < start + size for _, size, start, x in self.loads)

    is_jit = False

    def knows(self, vaddr):
        """Is enough known of the code there to call it wrong? Of a stripped Go program's nothing is: only its
        own table has names and bounds, and a goroutine's first function returns to where no call is."""
        return '.gopclntab' not in self.sections or self.function(vaddr) is not None

    def may_land(self, vaddr):
        """May an exception go on there? Then the unwinder has put this address over that of a call.
        Nothing in the function leads to it: neither the code before it nor a jump. A personality routine of the
        file's own, as LuaJIT's, has no table but the address itself."""
        bounds = self.function(vaddr)
        if bounds and bounds[0] < vaddr and self.personalities and vaddr in self.pointers:
            return True
        return bool(bounds) and '.gcc_except_table' in self.sections and code.is_unled(self, *bounds, vaddr)

    def has(self, _):
        """Can a place be judged?"""
        return True

    def reads(self, vaddr, size):
        """All that these bytes may have been."""
        return [self.read(vaddr, size)]

    def targets(self, vaddr):
        """[(image, address)] of a direct call."""
        return [(self, vaddr)]

    def section_of(self, vaddr):
        for name, section in self.sections.items():
            if section['sh_flags'] & 2 and section['sh_addr'] <= vaddr < section['sh_addr'] + section['sh_size']:
                return name
        return ''

    # ---- symbols ---------------------------------------------------------------------------

    def read_symbols(self):
        """(start, end, name), sorted; an end of 0 is an unsized symbol."""
        found = {}
        for elf, name in [(self.elf, '.dynsym'), (self.elf, '.symtab')] + debug_tables(self.elf):
            table = elf.get_section_by_name(name)
            if table is None or table['sh_type'] == 'SHT_NOBITS':
                continue
            strings = elf.get_section(table['sh_link']).data()
            for at, info, _, index, value, size in records('<IBBHQQ', table.data()):
                kind = info & 15
                if index == 0 and value and kind == FUNC and name == '.dynsym':
                    self.stubs[name_at(strings, at).split('@')[0]] = value
                if index == 0 or kind not in (NOTYPE, FUNC, IFUNC) or not self.is_code(value):
                    continue
                text = name_at(strings, at)
                if not text:
                    continue
                found.setdefault((value, text), size)
                if name == '.dynsym':
                    self.exports.setdefault(text.split('@')[0], set()).add((value, kind))
        self.symbols = sorted((value, value + size if size else 0, text) for (value, text), size in found.items())
        reach = 0
        self.reaches = []  # the furthest end so far: where a search to the left may stop
        for start, end, text in self.symbols:
            self.by_name.setdefault(text, []).append((start, end))
            reach = max(reach, end)
            self.reaches.append(reach)
        self.symbol_starts = [s[0] for s in self.symbols]

    def symbols_at(self, vaddr):
        """Sized symbols that cover the address, and unsized ones at the start of its FDE. .init and
        .fini are one function each."""
        found, i = [], bisect.bisect_right(self.symbol_starts, vaddr) - 1
        fde, section = self.fde(vaddr), self.sections.get(self.section_of(vaddr))
        if section is not None and section.name in ('.init', '.fini'):
            fde = section['sh_addr'], section['sh_addr'] + section['sh_size']
        while i >= 0 and (self.reaches[i] > vaddr or self.symbols[i][0] == vaddr or
                          (fde and self.symbols[i][0] >= fde[0])):
            start, end, text = self.symbols[i]
            if start <= vaddr < end or (end == 0 and fde and start in (fde[0], fde[0] + 1)) or start == vaddr:
                found.append((start, end or (fde[1] if fde else start), text))
            i -= 1
        return found

    def unsized_at(self, vaddr):
        """Unsized symbols of assembly without FDEs from which the code runs on to the address: nothing else
        begins on the way, and no padding follows a jump or a return."""
        i = bisect.bisect_right(self.symbol_starts, vaddr) - 1
        if i < 0 or self.symbols[i][1] or self.fde(vaddr) or vaddr - self.symbol_starts[i] > UNSIZED_BYTES_MAX:
            return []
        start, last = self.symbol_starts[i], ''
        if bisect.bisect_right(self.starts, vaddr) != bisect.bisect_right(self.starts, start):
            return []
        for _, _, mnemonic, _ in code.sweep(self.read(start, vaddr - start), start):
            if last in ('ret', 'jmp') and mnemonic in ('nop', 'int3'):
                return []
            last = mnemonic
        return [(start, vaddr + 1, text) for begin, end, text in self.symbols_starting(i) if begin == start and not end]

    def symbols_starting(self, i):
        """Those that start where the i-th does, up to it."""
        return self.symbols[bisect.bisect_left(self.symbol_starts, self.symbol_starts[i]):i + 1]

    # ---- functions -------------------------------------------------------------------------

    def read_fdes(self):
        """Starts of FDEs, sorted, with where each FDE is, by .eh_frame_hdr or by .eh_frame."""
        header, frame = self.sections.get('.eh_frame_hdr'), self.sections.get('.eh_frame')
        if frame is None or frame['sh_type'] == 'SHT_NOBITS':
            return [], [], 0
        self.frame_addr, self.frame = frame['sh_addr'], frame.data()
        if header is not None and header.data()[:4] == b'\x01\x1b\x03\x3b':
            data, base = header.data(), header['sh_addr']
            count = struct.unpack_from('<I', data, 8)[0]
            rows = sorted(records('<ii', data[12:12 + 8 * count]))
            return [a + base for a, _ in rows], [b + base for _, b in rows], 0
        rows = sorted(self.scan_fdes())
        return [a for a, _ in rows], [b for _, b in rows], 0

    def scan_frame(self):
        at = 0
        while at + 8 <= len(self.frame):
            size, cie = struct.unpack_from('<II', self.frame, at)
            if size in (0, 0xffffffff):
                at += 4 if size == 0 else len(self.frame)
                continue
            yield at, cie
            at += 4 + size

    def scan_fdes(self):
        for at, cie in self.scan_frame():
            start = self.fde_range(at)[0] if cie else 0
            if start:
                yield start, self.frame_addr + at

    @functools.cached_property
    def personalities(self):
        """Functions that the unwinder calls because CIEs name them: directly, or by a pointer in data."""
        found = set()
        for cie in [at for at, cie in self.scan_frame() if not cie] if self.starts else ():
            try:
                _, place, how = self.augmentation(cie)
                if not place or how & 15 not in FORMS or how & 0x70 not in (0, 0x10):
                    continue
                value = struct.unpack_from(FORMS[how & 15], self.frame, place)[0]
            except (struct.error, ValueError, IndexError):
                continue
            value += self.frame_addr + place if how & 0x10 else 0
            if how & 0x80:  # what the loader writes there is among the relocations
                value = int.from_bytes(self.read(value, 8), 'little')
            if value and self.is_code(value):
                found.add(value)
        return found

    @functools.lru_cache(maxsize=4096)
    def augmentation(self, cie):
        """The encoding of a CIE's pointers, where its personality routine is written and how; 0: none. Its data
        for languages (LSDA) are no functions."""
        text_end = self.frame.index(b'\0', cie + 9)
        text, at = self.frame[cie + 9:text_end], text_end + 1
        encoding = place = how = 0
        for _ in range(4):  # alignments, return address, length
            while self.frame[at] & 128:
                at += 1
            at += 1
        for letter in text[1:].decode('latin1') if text.startswith(b'z') else '':
            if letter == 'R':
                encoding = self.frame[at]
                at += 1
            elif letter == 'P':
                place, how = at + 1, self.frame[at]
                at += 1 + struct.calcsize(FORMS.get(how & 15, '<q'))
            elif letter == 'L':
                at += 1
        return encoding, place, how

    def fde_range(self, at):
        cie = at + 4 - struct.unpack_from('<I', self.frame, at + 4)[0]
        encoding = self.augmentation(cie)[0]
        if encoding & 15 in (3, 11):
            start, size = struct.unpack_from('<iI', self.frame, at + 8)
        else:
            start, size = struct.unpack_from('<qQ', self.frame, at + 8)
        if encoding & 0x70 == 0x10:
            start += self.frame_addr + at + 8
        return start, start + size

    def fde(self, vaddr):
        """(start, end) of the FDE that covers the address, or None."""
        i = bisect.bisect_right(self.starts, vaddr) - 1
        if i < 0:
            return None
        if i not in self.ends:
            self.ends[i] = self.fde_range(self.fdes[i] - self.frame_addr)[1]
        return (self.starts[i], self.ends[i]) if vaddr < self.ends[i] else None

    def is_plt(self, vaddr):
        return self.section_of(vaddr).startswith('.plt')

    def is_first_of_plt(self, vaddr):
        """The entry by which all others jump to the loader."""
        section = self.section_of(vaddr)
        return section == '.plt' and vaddr < self.sections[section]['sh_addr'] + 16

    @functools.lru_cache(maxsize=65536)
    def function(self, vaddr):
        """(start, end) of the function that holds the address, or None. One entry of a PLT is one."""
        section = self.section_of(vaddr)
        if self.is_plt(vaddr):
            size = 8 if section == '.plt.got' else 16
            start = vaddr - (vaddr - self.sections[section]['sh_addr']) % size
            return start, start + size
        fde, best = self.fde(vaddr), None
        for start, end, _ in self.symbols_at(vaddr):
            if start <= vaddr < end and (best is None or start > best[0]):
                best = start, end
        if fde and best:  # assembly: several symbols below one FDE, or several FDEs below a symbol
            return (max(fde[0], best[0]), min(fde[1], best[1]))
        return fde or best

    def entries(self, vaddr):
        """Addresses that a call of the function at vaddr may lead to."""
        function = self.function(vaddr)
        found = {start for start, _, _ in self.symbols_at(vaddr)}
        if function:
            found.add(function[0])
        return found

    def names(self, vaddr):
        return [text for _, _, text in self.symbols_at(vaddr)]

    # ---- pointers --------------------------------------------------------------------------

    @functools.cached_property
    def relocations(self):
        """Where the loader writes an address: vaddr → (symbol name, '') or (addend, 'address' or 'resolver')."""
        slots, dynsym = {}, self.sections.get('.dynsym')
        symbols = list(records('<IBBHQQ', dynsym.data())) if dynsym else []
        strings = self.elf.get_section(dynsym['sh_link']).data() if dynsym else b''
        for section in self.sections.values():
            if section['sh_type'] != 'SHT_RELA' or not section['sh_flags'] & 2:
                continue
            for at, info, addend in records('<QQq', section.data()):
                kind, index = info & 0xffffffff, info >> 32
                if kind in (RELATIVE, IRELATIVE):
                    slots[at] = addend, 'address' if kind == RELATIVE else 'resolver'
                elif kind in (JUMP_SLOT, GLOB_DAT, ABS64) and index < len(symbols):
                    name, _, _, _, value, _ = symbols[index]
                    slots[at] = name_at(strings, name), 'call' if kind == JUMP_SLOT else 'pointer'
        self.add_packed(slots)
        return slots

    def add_packed(self, slots):
        """.relr.dyn: DT_RELR of the generic ABI."""
        section, at = self.sections.get('.relr.dyn'), 0
        for (entry,) in records('<Q', section.data() if section else b''):
            if entry & 1 == 0:
                places, at = [entry], entry + 8
            else:
                places = [at + 8 * i for i in range(63) if entry >> (i + 1) & 1]
                at += 8 * 63
            for place in places:
                value = self.read(place, 8)
                if len(value) == 8:
                    slots[place] = struct.unpack('<Q', value)[0], 'address'

    @functools.cached_property
    def pointers(self):
        """Addresses of code that this file's data or code can hand on."""
        found = {value for value, kind in self.relocations.values() if kind in ('address', 'resolver')}
        found |= self.personalities
        for at, size, vaddr, executable in self.loads:
            if executable:
                for match in LEA.finditer(self.data, at, at + size):
                    end = match.end() - at + vaddr + 4
                    found.add(end + struct.unpack('<i', match.group(1))[0])
        return found

    @functools.cached_property
    def wanted_names(self):
        """Symbols of which this file has the loader write the address for more than a call."""
        return {value for value, kind in self.relocations.values() if kind == 'pointer'}

    @functools.lru_cache(maxsize=65536)
    def hands_out(self, vaddr):
        """Is the address of this function in the file, as a pointer? Interpreters mark their pointers
        in the lowest bits."""
        if any(vaddr + tag in self.pointers for tag in range(TAGS)) or any(COMPUTED.match(n) for n in self.names(vaddr)):
            return True
        if any(n in self.wanted_names for n in self.names(vaddr)):
            return True
        return self.fixed and self.data.find(struct.pack('<I', vaddr)) >= 0

    @functools.cached_property
    def far_jumps(self):
        """(target, place) of each jmp and jcc with 32 bits, sorted. Bytes that only look so are among them."""
        found = []
        for at, size, vaddr, executable in self.loads:
            if not executable:
                continue
            for match in JUMP.finditer(self.data, at, at + size):
                place = match.start() - at + vaddr
                target = match.end() - at + vaddr + 4 + struct.unpack('<i', match.group(1))[0]
                if not -NEAR < target - place < NEAR:
                    found.append((target, place))
        found.sort()
        return found

    def neighbours(self, bounds):
        """Functions so near that far_jumps does not have their jumps to this one."""
        found, at = set(), bounds[0] - 1
        while at > bounds[0] - NEAR:
            there = self.function(at)
            if there:
                found.add(there)
            at = there[0] - 1 if there else at - 1
        at = bounds[1]
        while at < bounds[1] + NEAR:
            there = self.function(at)
            if there:
                found.add(there)
            at = there[1] if there else at + 1
        return found - {bounds}

    def jumps_to(self, start, end):
        """Places outside of [start, end) that may jump into it."""
        i = bisect.bisect_left(self.far_jumps, (start, 0))
        while i < len(self.far_jumps) and self.far_jumps[i][0] < end:
            if not start <= self.far_jumps[i][1] < end:
                yield self.far_jumps[i][1]
            i += 1

    @functools.cached_property
    def tags(self):
        """(tag, text) of DT_NEEDED and DT_SONAME."""
        section = self.sections.get('.dynamic')
        return [(tag.entry.d_tag, getattr(tag, 'needed', getattr(tag, 'soname', '')))
                for tag in (section.iter_tags() if section else ()) if tag.entry.d_tag in ('DT_NEEDED', 'DT_SONAME')]

    @property
    def needed(self):
        return [text for tag, text in self.tags if tag == 'DT_NEEDED']

    @property
    def soname(self):
        return next((text for tag, text in self.tags if tag == 'DT_SONAME'), self.base)

    @functools.cached_property
    def is_program(self):
        if '.dynamic' not in self.sections:
            return self.entry != 0
        return '.interp' in self.sections and not any(tag == 'DT_SONAME' for tag, _ in self.tags)

    def has_text(self, text):
        """Is it a string of the file's data, not only a symbol's name?"""
        section = self.sections.get('.rodata')
        return section is not None and section['sh_type'] != 'SHT_NOBITS' and \
            self.data.find(b'\0' + text.encode() + b'\0', section['sh_offset'],
                           section['sh_offset'] + section['sh_size']) >= 0

    @functools.cached_property
    def slot_jumps(self):
        """Symbol → places of a jmp through the pointer that the loader fills with its address."""
        found = {}
        for at, size, vaddr, executable in self.loads:
            for match in SLOT_JUMP.finditer(self.data, at, at + size) if executable else ():
                slot = match.end() - at + vaddr + 4 + struct.unpack('<i', match.group(1))[0]
                value, kind = self.relocations.get(slot, ('', ''))
                if kind in ('call', 'pointer'):
                    found.setdefault(value.split('@')[0], []).append(match.start() - at + vaddr)
        return found

    def jumps_over(self, names):
        return [place for name in names for place in self.slot_jumps.get(name, ())]


def build_id_of(elf):
    for segment in elf.iter_segments():
        if segment['p_type'] == 'PT_NOTE':
            for note in segment.iter_notes():
                if note['n_type'] == 'NT_GNU_BUILD_ID':
                    return note['n_desc']
    return ''


def debug_tables(elf):
    """The symbol table of Debian's debug file, if it is installed."""
    build_id = build_id_of(elf)
    path = f'/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug'
    if not build_id or not os.path.exists(path):
        return []
    return [(ELFFile(open(path, 'rb')), '.symtab')]


def from_memory(path, data):
    import io
    elf = ELFFile(io.BytesIO(data))
    if elf.get_machine_arch() != 'x64':
        raise Unusable('not x86-64')
    return Image(path, data, elf)


def vdso():
    """This machine's own: all processes have the same."""
    for line in open('/proc/self/maps', encoding='ascii'):
        if line.rstrip().endswith('[vdso]'):
            start, end = (int(x, 16) for x in line.split()[0].split('-'))
            with open('/proc/self/mem', 'rb') as memory:
                memory.seek(start)
                return from_memory('[vdso]', memory.read(end - start))
    raise Unusable('no vDSO')


def load(path, build_id):
    """The file of a mapping. Unusable says why not."""
    if path == '[vdso]':
        return vdso()
    if not path.startswith('/'):
        raise Unusable('no path')
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > FILE_BYTES_MAX:
            raise Unusable('gone, not a file, or too large')
        with open(path, 'rb') as file:
            image = from_memory(path, file.read())
    except (OSError, ELFError, struct.error, ValueError, IndexError, KeyError) as error:
        raise Unusable(f'{error}') from error
    if build_id and build_id != build_id_of(image.elf):
        raise Unusable('another file than was profiled')
    return image
