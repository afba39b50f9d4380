# SPDX-License-Identifier: Apache-2.0
"""stalled.py - a service that a dependency stalls, from 8 s after its start.
Usage: stalled.py pool|loop"""
import asyncio
import concurrent.futures
import socket
import sys
import threading
import time

STALLS = time.monotonic() + 8


def stalls():
    return time.monotonic() > STALLS


server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(64)


def answer(client):
    client.recv(10)
    while stalls():
        time.sleep(0.1)
    client.send(b"x")
    client.close()


def serve():
    while True:
        client, _ = server.accept()
        threading.Thread(target=answer, args=(client,), daemon=True).start()


def stock_of():
    with socket.create_connection(server.getsockname()) as client:
        client.settimeout(600)
        client.send(b"q")
        client.recv(1)


def work():
    return sum(range(200000))


def handle():
    work()
    stock_of()


def by_pool():
    pool = concurrent.futures.ThreadPoolExecutor(4)
    while True:
        concurrent.futures.wait([pool.submit(handle) for _ in range(4)], timeout=1)


def rates_of():
    """Not made for an event loop."""
    if stalls():
        time.sleep(600)


async def route():
    work()
    await asyncio.sleep(0.001)
    rates_of()


async def by_loop():
    while True:
        await asyncio.gather(*(route() for _ in range(4)))


threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
if sys.argv[1] == "pool":
    by_pool()
asyncio.run(by_loop())
