"""Turns in the engine, and the end of a process in which nothing moves."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

from mixgrid.watchdog import DEAD, Turns, watch

ROOT = Path(__file__).resolve().parent.parent
ENDING = """
import subprocess, sys, time
from mixgrid.watchdog import end_process
child = subprocess.Popen(["sh", "-c", "sleep 60 & wait"])
time.sleep(0.3)
print(child.pid, flush=True)
end_process(stacks=True)
"""


def test_who_is_alone_waits_for_the_others_and_later_ones_wait_for_it() -> None:
    turns, inside, order = Turns(), threading.Barrier(3), list[str]()
    leave = threading.Event()

    def together() -> None:
        with turns.turn(alone=False):
            inside.wait(10)
            leave.wait(10)
            order.append("together")

    def alone() -> None:
        with turns.turn(alone=True):
            assert turns.inside == 1
            order.append("alone")

    def late() -> None:
        with turns.turn(alone=False):
            order.append("late")

    first = [threading.Thread(target=together) for _ in range(2)]
    for thread in first:
        thread.start()
    inside.wait(10)
    rest = [threading.Thread(target=alone), threading.Thread(target=late)]
    for thread in rest:
        thread.start()
        time.sleep(0.1)
    assert order == []
    leave.set()
    for thread in (*first, *rest):
        thread.join(10)
    assert order == ["together", "together", "alone", "late"]
    assert turns.inside == 0


def test_only_an_engine_with_somebody_in_it_and_nothing_finished_hangs() -> None:
    turns, hung, finished = Turns(), threading.Event(), [0]
    watch(turns, lambda: finished[0], 0.3, hung.set)
    assert not hung.wait(0.6)  # empty
    with turns.turn(alone=False):
        for _ in range(8):  # slow, but rows come
            finished[0] += 1
            assert not hung.wait(0.1)
        assert hung.wait(10)


def test_the_end_takes_with_it_what_the_process_started() -> None:
    command = [sys.executable, "-c", ENDING]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "lib")}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == DEAD == 70
    assert "most recent call first" in ended.stderr
    child = int(ended.stdout)
    deadline = time.monotonic() + 10
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
