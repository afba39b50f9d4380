# SPDX-License-Identifier: Apache-2.0
"""Programs of Java and Python that tools/bench runs. A function of a depth gives (command, how many reads of memory
the language needs for it at a tick), by how they keep their frames: not measured."""
import pathlib, time

from bench_parts.processes import read
from bench_parts.programs import Skip, run

DEPTH = 40
WARM_SECONDS = {'python': 0, 'java': 4}  # until the compiler has made all code
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = pathlib.Path('/usr/bin/python3')
JDKS = [pathlib.Path(f'/usr/lib/jvm/java-{n}-openjdk-amd64/bin') for n in (17, 21)]

PYTHON_DEEP = """def deep(n):
    if n: return deep(n - 1)
    while True: pass
deep(%d)"""


def python(tmp, depth):
    """Blocks of frames, the thread's state (4), and a window for each code that differs from the one before (3)."""
    if not PYTHON.exists():
        raise Skip('no Python of the distribution')
    return [PYTHON, '-S', '-c', PYTHON_DEEP % (depth - 2)], depth * 88 // 1024 + 4 + 3


def jdk():
    for folder in JDKS:
        if (folder / 'javac').exists():
            return folder
    raise Skip('no JDK of the distribution')


def java(tmp, depth):
    """For each frame two bytes of the segment map, the head of its blob, and the number that proves it: four things,
    whatever the number of copies that bring them."""
    run(jdk() / 'javac', '-d', tmp, ROOT / 'tests' / 'bench' / 'Deep.java')
    return [jdk() / 'java', '-XX:CompileCommand=quiet', '-XX:CompileCommand=dontinline,Deep::*', '-cp', tmp, 'Deep',
            depth - 10], 4 * (depth - 10)


def host(tmp):
    """Ten processes of each, which work a tenth of the time."""
    run(jdk() / 'javac', '-d', tmp, ROOT / 'tests' / 'runtimes' / 'Market.java', ROOT / 'tests' / 'runtimes' / 'Mill.java')
    script = tmp / 'work.py'
    script.write_text('import json, time\nwhile True:\n end = time.monotonic() + 0.05\n while time.monotonic() < end:\n'
                      '  json.loads(json.dumps([{"a": i} for i in range(99)], sort_keys=True))\n time.sleep(0.45)\n')
    return [[PYTHON, script]] * 10 + [[jdk() / 'java', '-Xmx64m', '-cp', tmp, 'Market', 600]] * 10


def methods(tmp, number):
    """A JVM that has compiled so many methods, runs the last ones, and writes the file `ready`."""
    classes = number // 500
    with open(tmp / 'Many.java', 'w') as out:
        out.write('public class Many {\n static volatile long sink;\n')
        for c in range(classes):
            out.write(f' static class C{c} {{\n')
            for m in range(500):
                out.write(f'  static long m{m}(long a) {{ return a * {m + 3} + (a >> {m % 60 + 1}); }}\n')
            out.write('  static long all(long a) {\n')
            for m in range(500):
                out.write(f'   a += m{m}(a);\n')
            out.write('   return a;\n  }\n }\n')
        out.write(' static long round(long a) {\n')
        for c in range(classes):
            out.write(f'  a += C{c}.all(a);\n')
        out.write('  return a;\n }\n public static void main(String[] args) throws Exception {\n'
                  '  for (int i = 0; i < 400; i++) sink += round(i);\n'
                  '  new java.io.File(args[0]).createNewFile();\n  for (;;) sink += round(1);\n }\n}\n')
    run(jdk() / 'javac', '-J-Xss64m', '-d', tmp, tmp / 'Many.java')
    return [jdk() / 'java', '-XX:TieredStopAtLevel=1', '-XX:-Inline', '-cp', tmp, 'Many', tmp / 'ready']


def until_ready(tmp, number):
    for _ in range(60):
        time.sleep(1)
        if not (tmp / 'ready').exists():
            continue
        _, text = run(jdk() / 'jcmd', 'Many', 'Compiler.codelist')
        if text.count(b' Many$') >= number:
            return
    raise Skip('the JVM has not compiled its methods in a minute')


def first_named(program, tmp):
    """Seconds from the start of a recording to the first sample with a name of Java's."""
    began = time.time()
    run(program, 'record', '-q', '-a', '-F', 99, '-d', 5, '-f', 'perf', '-o', tmp / 'first.perf')
    uptime = float(read('/proc/uptime').split()[0])
    offset, at = time.time() - uptime, None
    for line in open(tmp / 'first.perf'):
        if line.startswith('java') or (line[:1].strip() and '/' in line.split(' ', 1)[-1] and ':' in line):
            fields = line.split()
            stamp = next((f for f in fields if f.endswith(':') and f[:-1].replace('.', '', 1).isdigit()), None)
            at = float(stamp[:-1]) + offset if stamp else at
        elif 'Many$C' in line and at:
            return at - began
    raise Skip('no sample with a name of Java')
