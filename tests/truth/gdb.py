# SPDX-License-Identifier: Apache-2.0
"""For tests/truth/gdb, inside of gdb: lets the program run for random moments and compares, each time and
for each thread, the return addresses that gdb finds with those of tests/truth/stopped.c.

$STOPPED is its program, $STOPS how often, $SEED for the moments. Prints what differs and, as the last line,
    gdb: N stacks, N complete, N guessed, N truncated; N differ, N longer in gdb, N shorter in gdb
of which the last two are complete stacks, too, in which gdb goes on after the root, or stops before it.
"""
import os
import random
import signal
import subprocess
import threading

import gdb

GPR = 'rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip fs_base'.split()
FRAMES_MAX = 400
SHOWN_MAX = 5
STARTS_MAX = 50
REAL = (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME, gdb.ARCH_FRAME)
counts = dict.fromkeys(('stacks', 'complete', 'guessed', 'truncated', 'differ', 'longer', 'shorter'), 0)


def chain_of_gdb():
    """pc of each frame that a call made, innermost first."""
    found, frame = [], gdb.newest_frame()
    while frame is not None and frame.is_valid() and len(found) < FRAMES_MAX:
        if frame.type() in REAL:
            found.append(frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def until_lost(pcs, pid):
    """Up to where gdb took a word that is no code for a return address, as it does above the vDSO."""
    code = []
    with open(f'/proc/{pid}/maps', encoding='utf-8', errors='replace') as maps:
        for line in maps:
            if line.split()[1][2] == 'x':
                code.append(tuple(int(word, 16) for word in line.split()[0].split('-')))
    for i, pc in enumerate(pcs):
        if not any(start <= pc < end for start, end in code):
            return pcs[:i]
    return pcs


def is_same(place, pc):
    """A return address minus one, or where a signal came."""
    return place in (pc, pc - 1)


def ask(walker, pid):
    values = [int(gdb.parse_and_eval(f'${name}')) & (1 << 64) - 1 for name in GPR]
    walker.stdin.write(f'{pid} ' + ' '.join(f'{value:x}' for value in values) + '\n')
    walker.stdin.flush()
    how, *places = walker.stdout.readline().split()
    return how.split(':')[0], [int(place, 16) for place in places]


def show(ours, theirs):
    if counts['differ'] > SHOWN_MAX:
        return
    for i in range(max(len(ours), len(theirs))):
        left = f'{ours[i]:#x}' if i < len(ours) else '-'
        right = f'{theirs[i]:#x} {gdb.format_address(theirs[i])}' if i < len(theirs) else '-'
        print(f'    {left:>18}  {right}')


def compare(walker, pid):
    how, ours = ask(walker, pid)
    counts['stacks'] += 1
    counts[how] += 1
    if how != 'complete':
        return
    theirs = until_lost(chain_of_gdb(), pid)
    common = min(len(ours), len(theirs), FRAMES_MAX)
    if not all(is_same(a, b) for a, b in zip(ours[:common], theirs)):
        counts['differ'] += 1
        print(f'differ: {len(ours)} frames, {len(theirs)} in gdb')
        show(ours, theirs)
    elif len(theirs) > len(ours):
        counts['longer'] += 1
        print(f'longer in gdb: {gdb.format_address(theirs[len(ours)])} after {gdb.format_address(theirs[len(ours) - 1])}')
    elif len(theirs) < len(ours) and len(theirs) < FRAMES_MAX:
        counts['shorter'] += 1


def run_for(seconds):
    """Until a signal stops it."""
    pid = gdb.selected_inferior().pid
    timer = threading.Timer(seconds, lambda: os.kill(pid, signal.SIGSTOP))
    timer.start()
    try:
        gdb.execute('continue', to_string=True)
    finally:
        timer.cancel()
    return gdb.selected_inferior().pid != 0


def main():
    for line in ('pagination off', 'confirm off', 'backtrace past-main on', 'backtrace past-entry on', 'width 0',
                 'print thread-events off', 'print inferior-events off',
                 'debuginfod enabled off'):
        gdb.execute(f'set {line}', to_string=True)
    gdb.execute('handle all nostop noprint pass', to_string=True)
    gdb.execute('handle SIGSTOP stop print nopass', to_string=True)
    draw = random.Random(int(os.environ['SEED']))
    walker = subprocess.Popen([os.environ['STOPPED']], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    left = int(os.environ['STOPS'])
    for _ in range(STARTS_MAX):
        gdb.execute('starti', to_string=True)
        while left > 0 and run_for(draw.uniform(0.01, 0.1)):
            left -= 1
            for thread in gdb.selected_inferior().threads():
                thread.switch()
                compare(walker, gdb.selected_inferior().pid)
        if left <= 0:
            break
    if gdb.selected_inferior().pid:
        gdb.execute('kill', to_string=True)
    print('gdb: {stacks} stacks, {complete} complete, {guessed} guessed, {truncated} truncated; {differ} differ, '
          '{longer} longer in gdb, {shorter} shorter in gdb'.format(**counts))


main()
