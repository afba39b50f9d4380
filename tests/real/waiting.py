# SPDX-License-Identifier: Apache-2.0
"""waiting.py SECONDS - threads that wait in known functions. Once all wait it prints what the interpreter
says of each, `stack NAME FUNCTION;FUNCTION...`, outermost first, and `ready`."""
import queue, select, socket, sys, threading, time

ITEMS, LOCK, EVENT = queue.Queue(), threading.Lock(), threading.Event()
PAIR = socket.socketpair()


class Service:
    def call(self):
        return self.ask_dependency()

    def ask_dependency(self):
        return PAIR[0].recv(1)


def nap():
    def deeper(left):
        if left:
            return deeper(left - 1)
        time.sleep(3600)

    deeper(40)


def take():
    return [item for item in iter(ITEMS.get, None)]


def lock_it():
    with LOCK:
        pass


def generate():
    yield EVENT.wait()


def consume():
    return sum(1 for _ in generate())


def poll():
    sorted([1, 2], key=lambda n: select.select([PAIR[1]], [], [], 3600))


WAITS = {'nap': nap, 'call': Service().call, 'take': take, 'lock': lock_it, 'consume': consume, 'poll': poll}


def sleeps(thread):
    with open(f'/proc/self/task/{thread.native_id}/stat') as stat:
        return stat.read().rpartition(')')[2].split()[0] == 'S'


def name_of(code):
    return getattr(code, 'co_qualname', code.co_name)


def say(thread):
    frame, names = sys._current_frames()[thread.ident], []
    while frame:
        names.insert(0, name_of(frame.f_code))
        frame = frame.f_back
    print('stack', thread.name, ';'.join(names))


def main():
    LOCK.acquire()
    threads = [threading.Thread(target=wait, name=name, daemon=True) for name, wait in WAITS.items()]
    for thread in threads:
        thread.start()
    while not all(sleeps(thread) for thread in threads):
        time.sleep(0.01)
    for thread in threads:
        say(thread)
    print('ready', flush=True)
    time.sleep(float(sys.argv[1]))


main()
