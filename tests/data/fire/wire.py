#!/usr/bin/env python3
"""A slow and lossy wire between two network namespaces, in user land.

usage: wire.py PORT...

Makes two namespaces without names and joins them by a TUN pair. The near one has no loopback: 127.0.0.1 lies at the
other end of the wire. There, each PORT is passed on to the same port of this machine's own loopback, where the
services are. Prints one JSON line, `{"near": PATH}`: the file of the near namespace, for `nsenter --net=PATH`; or
`{"lacks": WHY}` where this machine does not let it.

Standard input takes the weather, a line of JSON at a time, each with what is to change:
  delay     seconds that every packet takes, each way
  loss      the share of packets that are lost, 0 to 1
  seed      of what is lost
  lifetime  seconds after which everything of a connection is thrown away, as routers forget; null: never
  held      words; what goes out with one of them takes `held_for` seconds longer, retransmissions too
  held_for  seconds
  held_max  connections that this is done to; null: all
At the end of its input it ends, and everything that it made is gone: nothing of it has a name that could be left.
"""
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
HERE = "/proc/thread-self/ns/net"
NEAR, FAR = "10.232.0.1", "127.0.0.1"
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def enter(namespace):
    check(libc.setns(namespace, CLONE_NEWNET))


def new_namespace():
    """Leaves this thread in the namespace."""
    check(libc.unshare(CLONE_NEWNET))
    return os.open(HERE, os.O_RDONLY)


def new_wire_end(commands):
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", b"wire", IFF_TUN | IFF_NO_PI))
    # Addresses that are a machine's own elsewhere may come and go by this device.
    for name, value in (("route_localnet", "1"), ("rp_filter", "0")):
        with open(f"/proc/sys/net/ipv4/conf/wire/{name}", "w", encoding="ascii") as setting:
            setting.write(value)
    for command in commands:
        subprocess.run(["ip"] + command.split(), check=True)
    return end


def set_up(ports):
    home = os.open(HERE, os.O_RDONLY)
    near = new_namespace()
    near_end = new_wire_end((
        f"addr add {NEAR}/32 dev wire", "link set wire up", f"route add {FAR}/32 dev wire src {NEAR}",
    ))
    new_namespace()
    far_end = new_wire_end(("link set lo up", "link set wire up", f"route add {NEAR}/32 dev wire src {FAR}"))
    # A socket stays in the namespace in which it was made.
    doors = [socket.create_server((FAR, port), backlog=64) for port in ports]
    enter(home)
    for door, port in zip(doors, ports):
        threading.Thread(target=let_in, args=(door, port), daemon=True).start()
    return near, near_end, far_end


def let_in(door, port):
    while True:
        guest, _ = door.accept()
        threading.Thread(target=pass_on, args=(guest, port), daemon=True).start()


def pass_on(guest, port):
    try:
        # The service hears of a connection when it has something to say.
        first = guest.recv(65536)
        if not first:
            guest.close()
            return
        service = socket.create_connection((FAR, port))
        service.sendall(first)
    except OSError:
        guest.close()
        return
    threading.Thread(target=pump, args=(service, guest), daemon=True).start()
    pump(guest, service)


def pump(source, sink):
    """A guest that is gone may have asked for something all the same: only its own direction is closed."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Wire:
    def __init__(self, near_end, far_end):
        self.other = {near_end: far_end, far_end: near_end}
        self.near_end = near_end
        self.delay, self.loss, self.lifetime = 0.0, 0.0, None
        self.held, self.held_for, self.held_max = [], 0.0, None
        self.queue, self.count = [], 0
        self.first_seen, self.held_flows = {}, set()
        self.dice = random.Random()

    def change(self, weather):
        for name, value in weather.items():
            if name == "seed":
                self.dice = random.Random(value)
            elif name == "held":
                self.held = [word.encode() for word in value]
            elif hasattr(self, name):
                setattr(self, name, value)
            else:
                raise ValueError(f"the wire has no {name}")

    def take(self, end, packet, now):
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return
        header = (packet[0] & 15) * 4
        source, target = struct.unpack_from("!HH", packet, header)
        flow = (source, target) if end == self.near_end else (target, source)
        opens = packet[header + 13] & 0x12 == 0x02
        age = now - self.first_seen.setdefault(flow, now)
        if self.lifetime is not None and age > self.lifetime:
            if not opens:
                return
            # The port is used anew.
            self.first_seen[flow] = now
            self.held_flows.discard(flow)
        if self.dice.random() < self.loss:
            return
        at = now + self.delay
        if end == self.near_end and any(word in packet for word in self.held):
            if flow in self.held_flows or self.held_max is None or len(self.held_flows) < self.held_max:
                self.held_flows.add(flow)
                at += self.held_for
        self.count += 1
        heapq.heappush(self.queue, (at, self.count, self.other[end], packet))

    def give(self, now):
        while self.queue and self.queue[0][0] <= now:
            _, _, end, packet = heapq.heappop(self.queue)
            try:
                os.write(end, packet)
            except OSError:
                pass

    def carry(self):
        control = sys.stdin.fileno()
        said = b""
        while True:
            now = time.monotonic()
            self.give(now)
            patience = max(0.0, self.queue[0][0] - now) if self.queue else None
            ready, _, _ = select.select([control, *self.other], [], [], patience)
            for end in ready:
                if end == control:
                    data = os.read(control, 65536)
                    if not data:
                        return
                    *lines, said = (said + data).split(b"\n")
                    for line in lines:
                        self.change(json.loads(line))
                    continue
                try:
                    packet = os.read(end, 65536)
                except OSError:
                    continue
                self.take(end, packet, time.monotonic())


def main():
    try:
        near, near_end, far_end = set_up([int(port) for port in sys.argv[1:]])
    except (PermissionError, FileNotFoundError) as error:
        print(json.dumps({"lacks": str(error)}), flush=True)
        return
    print(json.dumps({"near": f"/proc/{os.getpid()}/fd/{near}"}), flush=True)
    Wire(near_end, far_end).carry()
    # Threads may sit in a connection.
    os._exit(0)


main()
