from __future__ import annotations

import os
import socket
import struct
import threading
import time

import pytest

from benchmarks.harness.sides.channel import (
    Channel,
    ChannelClosed,
    ChannelTimeout,
    InvalidMessage,
    encode,
)


def test_a_message_and_its_descriptors_arrive() -> None:
    ours, raw = Channel.pair()
    reading, writing = os.pipe()
    ours.send({"type": "setup", "text": "é" * 5_000}, [writing])
    message, (received,) = Channel(raw).receive_with_descriptors(1)
    assert message["text"] == "é" * 5_000
    os.write(received, b"x")
    assert os.read(reading, 1) == b"x"
    for descriptor in (reading, writing, received):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"all good, 9.9x faster", "not a message"),
        (struct.pack("!I", 3) + b"{,}", "not JSON"),
        (struct.pack("!I", 2) + b"[]", "not a message"),
        (struct.pack("!I", 12) + b'{"type": 12}', "not a message"),
        (struct.pack("!I", 0xFFFFFFFF), "not a message"),
        (struct.pack("!I", 90_000) + b"[" * 90_000, "not JSON"),
        (struct.pack("!I", 5_000) + b"9" * 5_000, "not JSON"),
    ],
)
def test_rubbish_is_named_as_such(content: bytes, complaint: str) -> None:
    ours, raw = Channel.pair()
    raw.sendall(content)
    with pytest.raises(InvalidMessage, match=complaint):
        ours.receive(1)


def test_the_referee_takes_no_files_from_a_side() -> None:
    ours, raw = Channel.pair()
    before = len(os.listdir("/proc/self/fd"))
    content = encode({"type": "done"})
    null = os.open(os.devnull, os.O_RDONLY)
    for at in range(len(content)):
        socket.send_fds(raw, [content[at : at + 1]], [null] * 100)
    os.close(null)
    assert ours.receive(1) == {"type": "done"}
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_spinning_reader_gets_a_late_partial_message() -> None:
    ours, raw = Channel.pair()
    content = encode({"type": "done"})

    def late() -> None:
        for at in range(len(content)):
            time.sleep(0.001)
            raw.sendall(content[at : at + 1])

    sender = threading.Thread(target=late)
    sender.start()
    assert ours.receive(5, awake=True) == {"type": "done"}
    sender.join()


def test_silence_and_half_a_message_run_into_the_limit() -> None:
    ours, raw = Channel.pair()
    with pytest.raises(ChannelTimeout):
        ours.receive(0.02)
    with pytest.raises(ChannelTimeout):
        ours.receive(0.02, awake=True)
    raw.sendall(struct.pack("!I", 100) + b"{")
    with pytest.raises(ChannelTimeout):
        ours.receive(0.02, awake=True)
    with pytest.raises(ChannelTimeout):
        ours.receive(0.02)


def test_the_end_of_the_stream_is_reported() -> None:
    ours, raw = Channel.pair()
    raw.close()
    with pytest.raises(ChannelClosed):
        ours.receive(1)
    with pytest.raises(ChannelClosed):
        ours.send({"type": "go"})
