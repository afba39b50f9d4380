# SPDX-License-Identifier: Apache-2.0
"""kinds_of_waits.py - a process for each kind of wait that a program can ask the kernel for, named k-KIND. Prints
`wait KIND STATE` for each, once all have begun, with what it waits for, a regular expression, where a profile is
to say that, and `ready`. Linux's own numbers are used where Python has no
function. All end with the first one."""
import ctypes, fcntl, os, select, signal, socket, struct, sys, tempfile, threading, time

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NAME, PR_SET_PDEATHSIG = 15, 1
KINDS = {}
HOME = tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None)


def waits(state, resource=''):
    def note(function):
        KINDS[function.__name__.replace('_', '-')] = state, resource, function
        return function
    return note


def path(name):
    return os.path.join(HOME, f'{name}-{os.getpid()}')


def connected():
    listener = socket.create_server(('127.0.0.1', 0))
    client = socket.create_connection(listener.getsockname())
    return client, listener.accept()[0], listener


def connected_low():
    for port in range(20000, 29999):
        try:
            listener = socket.create_server(('127.0.0.1', port))
        except OSError:
            continue
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0], listener


def begin(name, function):
    pid = os.fork()
    if pid == 0:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        LIBC.prctl(PR_SET_NAME, f'k-{name}'[:15].encode(), 0, 0, 0)
        try:
            function()
        except BaseException as error:
            print(f'{name}: {error}', file=sys.stderr, flush=True)
        os._exit(1)
    return pid


def helper():
    return begin('helper', signal.pause)


@waits('[blocked on socket]', r'tcp 127[.]0[.]0[.]1:[0-9]+')
def tcp_recv():
    client, *rest = connected()
    client.recv(1)


@waits('[blocked on socket]', r'tcp 127[.]0[.]0[.]1:[0-9]+')
def tcp_recv_limit():
    client, *rest = connected()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 600, 0))
    client.recv(1)


@waits('[blocked on socket]', r'tcp 127[.]0[.]0[.]1:[0-9]+')
def tcp_send():
    client, *rest = connected()
    while True:
        client.send(bytes(65536))


@waits('[blocked on socket]', r'tcp 127[.]0[.]0[.]1:[0-9]+')
def tcp_connect():
    listener = socket.create_server(('127.0.0.1', 0), backlog=0)
    kept = [socket.socket() for _ in range(4)]
    for client in kept:
        client.connect(listener.getsockname())


@waits('[blocked on accept]', r'tcp :[0-9]+')
def tcp_accept():
    socket.create_server(('127.0.0.1', 0)).accept()


@waits('[blocked on accept]', r'unix /.*/accept-[0-9]+')
def unix_accept():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path('accept'))
    listener.listen()
    listener.accept()


@waits('[blocked on socket]')
def unix_recv():
    pair = socket.socketpair()
    pair[0].recv(1)


@waits('[blocked on socket]')
def unix_datagram():
    pair = socket.socketpair(type=socket.SOCK_DGRAM)
    pair[0].recv(1)


@waits('[blocked on socket]')
def unix_packet():
    pair = socket.socketpair(type=socket.SOCK_SEQPACKET)
    pair[0].recv(1)


@waits('[blocked on socket]')
def unix_send():
    pair = socket.socketpair()
    while True:
        pair[0].send(bytes(65536))


@waits('[blocked on socket]', r'udp :[0-9]+')
def udp_recv():
    one = socket.socket(type=socket.SOCK_DGRAM)
    one.bind(('127.0.0.1', 0))
    one.recv(1)


@waits('[blocked on socket]', 'tcp 127[.]0[.]0[.]1:2[0-9]+')
def tcp_low_port():
    client, *rest = connected_low()
    client.recv(1)


@waits('[blocked on socket]', 'tcp :2[0-9]+')
def tcp_served():
    client, served, *rest = connected_low()
    served.recv(1)


@waits('[blocked on socket]', 'tcp .::1.:[0-9]+')
def tcp_v6():
    listener = socket.create_server(('::1', 0), family=socket.AF_INET6)
    client = socket.create_connection(listener.getsockname()[:2])
    client.recv(1)


@waits('[blocked on socket]', 'unix /.*/named-[0-9]+')
def unix_named():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path('named'))
    listener.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(path('named'))
    client.recv(1)


@waits('[blocked on socket]', 'unix @stoker-[0-9]+')
def unix_abstract():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f'\0stoker-{os.getpid()}')
    listener.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(listener.getsockname())
    client.recv(1)


@waits('[blocked on poll]', 'tcp 127[.]0[.]0[.]1:[0-9]+')
def poll_socket():
    client, *rest = connected()
    poll = select.poll()
    poll.register(client, select.POLLIN)
    poll.poll()


@waits('[blocked on poll]', 'tcp 127[.]0[.]0[.]1:[0-9]+')
def poll_two():
    client, *rest = connected()
    poll = polled()
    poll.register(client, select.POLLIN)
    poll.poll()


@waits('[blocked on socket]')
def other_file():
    one, *rest = connected()
    named = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    named.bind(path('other'))
    threading.Thread(target=one.recv, args=(1,), daemon=True).start()
    while state_of(f'{os.getpid()}/task/{threading.enumerate()[-1].native_id}') != 'S':
        time.sleep(0.05)
    os.dup2(named.fileno(), one.fileno())
    pair = socket.socketpair()
    pair[0].recv(1)


@waits('[blocked on pipe]', 'file .*/named-fifo-[0-9]+')
def fifo_read():
    os.mkfifo(path('named-fifo'))
    os.read(os.open(path('named-fifo'), os.O_RDWR), 1)


@waits('[blocked on file lock]', 'file [.][.][.]/x{31}[.][.][.]/c/d/deep-[0-9]+')
def flock_deep():
    home = os.path.join(HOME, 'a', 'x' * 40, 'c', 'd')
    os.makedirs(home)
    name = os.path.join(home, f'deep-{os.getpid()}')
    kept = open(name, 'w')
    fcntl.flock(kept, fcntl.LOCK_EX)
    fcntl.flock(open(name, 'w'), fcntl.LOCK_EX)


@waits('[blocked on socket]')
def netlink():
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    one.bind((0, 1))
    one.recv(1)


@waits('[blocked on eventfd]')
def event_fd():
    os.read(LIBC.eventfd(0, 0), 8)


@waits('[blocked on signal]')
def signal_fd():
    mask = (ctypes.c_ulong * 16)(1 << 9)
    LIBC.sigprocmask(0, mask, None)
    os.read(LIBC.signalfd(-1, mask, 0), 128)


@waits('[sleeping]')
def timer_fd():
    fd = LIBC.timerfd_create(1, 0)
    LIBC.timerfd_settime(fd, 0, (ctypes.c_long * 4)(0, 0, 600, 0), None)
    os.read(fd, 8)


@waits('[blocked on inotify]')
def inotify():
    fd = LIBC.inotify_init1(0)
    os.mkdir(path('watched'))
    LIBC.inotify_add_watch(fd, path('watched').encode(), 0x100)
    os.read(fd, 100)


def polled():
    poll = select.poll()
    poll.register(os.pipe()[0], select.POLLIN)
    return poll


@waits('[sleeping]')
def poll_nothing():
    select.poll().poll(600000)


@waits('[sleeping]')
def select_nothing():
    select.select([], [], [], 600)


@waits('[blocked on poll]')
def poll_ever():
    polled().poll()


@waits('[blocked on poll]')
def poll_limit():
    polled().poll(600000)


@waits('[blocked on poll]')
def select_limit():
    select.select([os.pipe()[0]], [], [], 600)


@waits('[blocked on epoll]')
def epoll():
    one = select.epoll()
    one.register(os.pipe()[0], select.EPOLLIN)
    one.poll()


@waits('[blocked on pipe]')
def pipe_read():
    ends = os.pipe()
    os.read(ends[0], 1)


@waits('[blocked on pipe]')
def pipe_write():
    ends = os.pipe()
    while True:
        os.write(ends[1], bytes(4096))


@waits('[blocked on pipe]')
def fifo_open():
    os.mkfifo(path('fifo'))
    open(path('fifo'))


@waits('[blocked on futex]', r'futex 0x[0-9a-f]+')
def futex():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@waits('[sleeping]')
def sleep_clock():
    time.sleep(600)


@waits('[sleeping]')
def sleep_libc():
    LIBC.sleep(600)


@waits('[blocked on signal]')
def pause():
    signal.pause()


@waits('[blocked on signal]')
def sigsuspend():
    LIBC.sigsuspend((ctypes.c_ulong * 16)())


@waits('[blocked on signal]')
def sigwait():
    signal.sigwait([signal.SIGUSR1])


@waits('[blocked on signal]')
def sigtimedwait():
    signal.sigtimedwait([signal.SIGUSR1], 600)


@waits('[blocked on child]')
def wait_pid():
    os.waitpid(helper(), 0)


@waits('[blocked on child]')
def wait_id():
    os.waitid(os.P_PID, helper(), os.WEXITED)


@waits('[blocked on file lock]', r'file .*/flock-[0-9]+')
def flock():
    kept = open(path('flock'), 'w')
    fcntl.flock(kept, fcntl.LOCK_EX)
    fcntl.flock(open(path('flock'), 'w'), fcntl.LOCK_EX)


@waits('[blocked on file lock]', r'file .*/record-[0-9]+')
def record_lock():
    name = path('record')
    kept = open(name, 'w')
    ready = os.pipe()

    def hold():
        held = open(name, 'w')
        fcntl.lockf(held, fcntl.LOCK_EX)
        os.write(ready[1], b'x')
        signal.pause()

    begin('helper', hold)
    os.read(ready[0], 1)
    fcntl.lockf(kept, fcntl.LOCK_EX)


@waits('[blocked on semaphore]')
def semaphore():
    LIBC.semop(LIBC.semget(0, 1, 0o1600), struct.pack('Hhh', 0, -1, 0), 1)


@waits('[blocked on message queue]')
def message():
    LIBC.msgrcv(LIBC.msgget(0, 0o1600), ctypes.create_string_buffer(100), 10, 0, 0)


@waits('[blocked on terminal]')
def terminal():
    os.read(os.openpty()[1], 1)


@waits('[stopped]')
def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)


def state_of(pid):
    with open(f'/proc/{pid}/stat') as stat:
        return stat.read().rpartition(')')[2].split()[0]


def settled(pids):
    return all(state_of(pid) in 'SDTZ' for pid in pids)


pids = [begin(name, function) for name, (*_, function) in KINDS.items()]
for still in range(5):
    while not settled(pids):
        time.sleep(0.05)
    time.sleep(0.1)
for name, (state, resource, _) in KINDS.items():
    print('wait', f'k-{name}'[:15], state.replace(' ', '_'), resource)
print('ready', flush=True)
for pid in pids:
    os.waitpid(pid, 0)
