"""
The agent's side of a connection, made up for tests: devices in memory, answers that a test names.

In:       frames on standard input; the words of sys.argv: what is done with the line "ask WORD".
Out:      frames on standard output, as agent/machine.c sends them.
Not here: what an agent does with filesystems.
"""

import struct
import sys

FRAME = struct.Struct("<IHHQQ")
MAGIC = 0x5043524D
CONFIG, LINE, WRITE, ZERO, READ, BEAT, STOP, DATA, END, CONSOLE, REFUSED, TROUBLE, GONE, LEFT = range(1, 15)
SIZES = (1 << 20, 1 << 20, 32 << 20, 256 << 20)


def send(kind, data=b"", device=0, offset=0):
    sys.stdout.buffer.write(FRAME.pack(MAGIC, kind, device, offset, len(data)) + data)
    sys.stdout.buffer.flush()


def main():
    sys.stdout.buffer.write(b"Welcome to the machine\n")  # of a login shell
    devices = [bytearray(min(size, 1 << 20)) for size in SIZES]
    while head := sys.stdin.buffer.read(FRAME.size):
        _, kind, device, offset, length = FRAME.unpack(head)
        if kind == CONFIG:
            text = sys.stdin.buffer.read(length).decode()
            if "refuse" in sys.argv:
                send(REFUSED, b"nvme0: it is mounted on /")
                return
            send(LINE, b"ready\n" if text.startswith("device\tdisk\t") else b"trouble no disk\n")
        elif kind == LINE:
            answer(sys.stdin.buffer.read(length).decode().strip())
        elif kind == WRITE:
            devices[device][offset : offset + length] = sys.stdin.buffer.read(length)
        elif kind == ZERO:
            devices[device][offset : offset + length] = bytes(min(length, len(devices[device]) - offset))
        elif kind == READ:
            for at in range(offset, min(offset + length, len(devices[device])), 4096):
                block = bytes(devices[device][at : min(at + 4096, offset + length)])
                if any(block):
                    send(DATA, block, device, at)
            send(END, device=device)
        elif kind == STOP:
            send(LEFT, b"powercut-disk stays busy" if "busy" in sys.argv else b"")
            return


def answer(line):
    match line:
        case "panic":
            send(CONSOLE, b"Kernel panic - not syncing: made up")
            sys.exit(1)
        case "leave":  # as one whose machine died without a word
            sys.exit(1)
        case "die":
            send(GONE)
        case "trouble":
            send(LINE, b"trouble mount: EINVAL\n")
        case "stages":
            send(LINE, b"stage mount\nst")
            send(LINE, b"age walk\ndone 1 2\n")
        case "silence":
            pass
        case "garbage":
            sys.stdout.buffer.write(b"no frame at all, and long enough")
            sys.stdout.buffer.flush()
        case "log":
            send(CONSOLE, b"first\nsecond")
            send(LINE, b"told 1\n")
        case other:
            send(LINE, f"said {other}\n".encode())


if __name__ == "__main__":
    main()
