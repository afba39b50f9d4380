# SPDX-License-Identifier: Apache-2.0
"""Does the daemon do under attack what it did before? Pure: the measurements come in as numbers and
folded lines, the figures and the failures go out as text."""
import collections, re

FLAT = 0.05           # of the middle third's level
COMPLETE_POINTS = 1   # of the quiet run's share
FILE_DESCRIPTORS = 2  # of a new program: the daemon keeps a file while it has room for 8,192
LATE_S = 2
CORE_PERCENT = 1      # above the quiet run
# Frames of files that are not the victims' own: a library's function, or its file and an offset.
LIBRARY = re.compile(r'(lib[\w.+-]+\.so[\w.]*|ld-[\w.-]+\.so[\w.]*|\[vdso\])(\+0x[0-9a-f]+)?|__vdso_\w+|\w+@plt')
MARKS = ('[truncated]', '[guessed]')
STARTERS = ('sh', 'unshare', 'mount')  # of a container, before its program is executed


def frames_of(line):
    """(container, comm, user frames, samples) of a folded line `container;comm;frame...`."""
    text, _, count = line.rpartition(' ')
    container, _, rest = text.partition(';')
    comm, _, rest = rest.partition(';')
    return container, comm, [f for f in rest.split(';') if not f.endswith('_[k]')], int(count)


def wrong_names(frames, order, library):
    """The frames that are no library's, if they are none that the program can have; '' where they are right."""
    own = [f for f in frames if f not in library and f not in MARKS and not LIBRARY.fullmatch(f)]
    chain = ''.join(f'{f} ' for f in own)
    return '' if re.fullmatch(order, chain) else chain


def stacks_of(lines, ids, programs, library):
    """What a profile has of the containers with these ids: how many samples and complete stacks, how many
    stacks with wrong names or of somebody else, and an example. programs: comm → an expression for the program's own frames,
    from the root, each with a blank; library: names of the libraries' functions."""
    out = {'samples': 0, 'complete': 0, 'wrong': 0, 'example': ''}
    by = collections.defaultdict(lambda: [0, 0])
    for line in lines:
        if not line or line.startswith('#'):
            continue
        container, comm, frames, count = frames_of(line)
        if container not in ids or comm in STARTERS:
            continue
        complete = not any(f in MARKS for f in frames)
        wrong = comm not in programs or wrong_names(frames, programs[comm], library)
        out['samples'] += count
        out['complete'] += count * complete
        by[comm][0] += count
        by[comm][1] += count * complete
        if wrong:
            out['wrong'] += count
            out['example'] = out['example'] or line[-300:]
    out['by'] = {comm: round(100 * whole / all_of, 2) for comm, (all_of, whole) in sorted(by.items())}
    return out


def share(part):
    return 100 * part['complete'] / part['samples'] if part['samples'] else 0


def lateness(intervals, interval_s, until):
    """How much later than due the latest of (begin, end) was; one that never came is due, too."""
    if not intervals:
        return float('inf')
    due = intervals[0][0]
    late = []
    for _, ended in intervals:
        late.append(ended - due - interval_s)
        due = ended
    return max(*late, until - due - interval_s)


def thirds(looks, key, seconds):
    """The levels of the middle third and of the last one: what is there all the time, the tenth percentile. A
    worker for large files comes and goes with the attackers' files, and maps do every ten seconds; they are up to
    a sixth of the memory, so means and medians have more or less of them by chance."""
    def level(since, until):
        values = sorted(l[key] for l in looks if since <= l['at'] <= until) or [0]
        return values[len(values) // 10]
    return level(seconds / 3, seconds * 2 / 3), level(seconds * 2 / 3, seconds)


UNITS = {'rss_kb': ('RSS', 1024, 'MB'), 'descriptors': ('descriptors', 1, ''), 'bpf_bytes': ('BPF memory', 1 << 20, 'MB')}


def judge(m):
    """(figures, failures) of the measurements `m`, as tools/hostile collects them. new_files: programs of the
    others that began in a third of the hostile run."""
    quiet, hostile, failures, figures = m['quiet'], m['hostile'], [], []

    def hold(holds, text):
        if not holds:
            failures.append(text)

    late = lateness(m['intervals'], m['interval_s'], hostile['until'])
    rates = '/'.join(map(str, hostile['rates']))
    figures.append(f'{m["seconds"]:.0f} s of {len(m["work"][0]) if m["work"] else 0} attacks after {m["quiet_seconds"]:.0f} s of quiet, '
                   f'{len(m["intervals"])} intervals at {rates} Hz, the latest {late:.2f} s late')
    hold(late <= LATE_S, f'an interval ended {late:.1f} s late')
    whole = share(quiet['others']), share(hostile['others'])
    figures.append(f'complete stacks of the others {whole[0]:.2f} % then {whole[1]:.2f} % of {hostile["others"]["samples"]}')
    for part, name in ((quiet, 'quiet'), (hostile, 'hostile')):
        hold(part['others']['samples'] > 0, f'no samples of the others in the {name} run')
    hold(whole[1] >= whole[0] - COMPLETE_POINTS, f'complete stacks of the others fell from {whole[0]:.2f} to {whole[1]:.2f} %: '
         f'{quiet["others"]["by"]} then {hostile["others"]["by"]}')
    figures.append(f'{hostile["others"]["wrong"]} with wrong names')
    for part, name in ((quiet, 'quiet'), (hostile, 'hostile')):
        hold(part['others']['wrong'] == 0, f'{part["others"]["wrong"]} samples of the others have wrong names in the '
             f'{name} run: {part["others"]["example"]}')
        hold(not part['forged'], f'forged names in the {name} run: {part["forged"][:1]}')
    for key, (name, unit, suffix) in UNITS.items():
        middle, last = thirds(m['looks'], key, m['seconds'])
        figures.append(f'{name} {middle / unit:.1f} then {last / unit:.1f} {suffix}'.strip())
        kept = FILE_DESCRIPTORS * m['new_files'] if key == 'descriptors' else 0
        hold(middle > 0 and -FLAT * middle <= last - middle <= FLAT * middle + kept, f'{name} is not flat: {middle / unit:.1f} {suffix} in the '
             f'middle third, {last / unit:.1f} in the last')
    for key, name in (('cpu_percent', 'user'), ('bpf_percent', 'BPF')):
        figures.append(f'{name} CPU {quiet[key]:.2f} then {hostile[key]:.2f} % of a core')
        hold(hostile[key] - quiet[key] <= CORE_PERCENT, f'{name} CPU rose from {quiet[key]:.2f} to {hostile[key]:.2f} % of a core')
    hold(m['work'], 'no minute of the attacks was counted')
    for minute, work in enumerate(m['work'], 1):
        idle = [name for name, n in work.items() if n == 0]
        hold(not idle, f'minute {minute}: no work of {", ".join(idle)}')
    hold(m['agents'] == 1, f'{m["agents"]} processes sampled, one after the other')
    hold(m['status'] == 0, f'the daemon ended with {m["status"]}')
    return figures, failures
