"""Worker processes beside this one: tasks that they take over, and values told to them later.

Threads of one process wait for each other in Python, so what is to run beside a fit runs in processes of their own.
Inside `worker_processes` a `Task` may be taken by a worker; one that none has taken, or that cannot be sent, is
computed here when its result is asked for. So a program with tasks gives the same answer without workers, only later.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.deadline import deadline, require_time, time_left
from genbayes.errors import GenBayesError

T = TypeVar("T")

IDLE_SECONDS = 300.0  # after which a worker without a task ends; the next fit finds it warm until then
LOOK_SECONDS = 0.005  # between two looks at a file that another process writes
# One thread in a worker: jobs must not fight for the cores, and sums must not depend on them.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerDied(GenBayesError, RuntimeError):
    """The process that computed a task ended before it was done."""


def count_workers(n_jobs: int | None) -> int:
    """Processes that may work beside this one: jobs less one; none inside a worker or under a backend of the user's.

    Args:
        n_jobs: As joblib takes it; None for what `joblib.parallel_config` says.

    Example:
        >>> count_workers(1)
        0
    """
    import joblib
    from joblib._parallel_backends import LokyBackend  # the default; others do as they are told

    backend, _ = joblib.parallel.get_active_backend()
    if not isinstance(backend, LokyBackend) or backend.nesting_level:
        return 0
    return max(0, int(joblib.effective_n_jobs(n_jobs)) - 1)


def has_workers() -> bool:
    """Whether this is inside a block with workers."""
    return _present.get() is not None


class Task(Generic[T]):
    """A call whose result is wanted later.

    Example:
        >>> Task(pow, 2, 10).result()
        1024
    """

    def __init__(self, call: Callable[..., T], *args: Any) -> None:
        self.call, self.args = call, args
        self.future: Any = None  # of the worker that has it
        self.ends: float | None = None  # its deadline, on the clock that processes share
        self._crew: _Crew | None = None
        self._answer: _Answer[T] | None = None

    def begin(self) -> bool:
        """Let a worker take it as soon as one is free; whether there are any."""
        self._crew, left = _present.get(), time_left()
        self.ends = None if left is None else time.time() + left
        if self._crew is not None:
            self._crew.offer(self)
        return self._crew is not None

    def compute_here(self) -> None:
        """Compute it now; `result` tells what came of it."""
        self._answer = _answer(self.call, self.args)

    def result(self) -> T:
        """What the call returns; while a worker is at it, others that wait are computed here."""
        if self._crew is not None and not self._crew.take_back(self) and self.future is not None:
            while not self.future.done() and self._crew.help_out():
                pass
            return self._crew.receive(self)
        return self.call(*self.args) if self._answer is None else self._answer.value()


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """What a call returned or raised; neither if it could not be sent."""

    returned: T | None = None
    raised: Exception | None = None
    is_sent: bool = True

    def value(self) -> T:
        """What was returned; what was raised is raised again."""
        if self.raised is not None:
            raise self.raised
        return self.returned  # type: ignore[return-value]


def _answer(call: Callable[..., T], args: Sequence[Any]) -> _Answer[T]:
    try:
        return _Answer(call(*args))
    except Exception as error:  # handed on to whoever asks for the result
        return _Answer(raised=error)


def compute_all(tasks: Sequence[Task[Any]]) -> None:
    """Let workers take tasks from the end, while this process begins with the first, until none waits any more."""
    crew = _present.get()
    if crew is None:
        return
    for task in reversed(tasks[1:]):
        task.begin()
    for task in tasks:
        if task is tasks[0] or crew.take_back(task):
            task.compute_here()


@contextmanager
def worker_processes(n_workers: int) -> Iterator[None]:
    """Inside the block so many workers take tasks; nobody does for none. What they are at when it fails is ended."""
    if not n_workers:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="genbayes-", ignore_cleanup_errors=True) as folder:
        crew = _Crew(n_workers, Path(folder))
        token = _present.set(crew)
        try:
            yield
        except BaseException:
            crew.give_up()
            raise
        finally:
            _present.reset(token)
            crew.leave()


class _Crew:
    """The workers of one block, and the tasks that wait for them: each worker has one task at a time."""

    def __init__(self, n_workers: int, folder: Path) -> None:
        self.folder, self.n_told = folder, 0
        self._n_free, self._n_workers = n_workers, n_workers
        self._waiting: deque[Task[Any]] = deque()
        self._at_work: set[Any] = set()
        self._lock = RLock()  # a finished task hands on to the next in another thread
        self._is_broken = False

    def offer(self, task: Task[Any]) -> None:
        with self._lock:
            self._waiting.append(task)
        self._hand_out()

    def take_back(self, task: Task[Any]) -> bool:
        """Whether nobody had taken it; nobody will."""
        with self._lock:
            if task not in self._waiting:
                return False
            self._waiting.remove(task)
            return True

    def help_out(self) -> bool:
        """Compute a waiting task here, if there is one."""
        with self._lock:
            task = self._waiting.pop() if self._waiting else None
        if task is not None:
            task.compute_here()
        return task is not None

    def receive(self, task: Task[T]) -> T:
        """The result of a task that a worker took; computed here if it could not be sent."""
        try:
            answer = _wait(task.future)
        except RuntimeError:  # workers died, or were dismissed: perhaps by another task, or by a fit in another thread
            answer = self._alone(task)
        return answer.value() if answer.is_sent else task.call(*task.args)

    def _alone(self, task: Task[T]) -> _Answer[T]:
        """What a task comes to in a process of its own."""
        packed, executor = _packed(task), _new_executor(1)
        assert packed is not None, "it was sent before"
        try:
            return _wait(executor.submit(_work, *packed))
        except RuntimeError as error:
            raise WorkerDied(f"its worker process died ({type(error).__name__})") from error
        finally:
            executor.shutdown(kill_workers=True)

    def give_up(self) -> None:
        """End what workers are at."""
        with self._lock:
            self._waiting.clear()
            is_idle = not self._at_work
        if not is_idle:
            _dismiss(kill=True)

    def leave(self) -> None:
        """Nothing more is handed out; workers whose process broke are replaced by the next block."""
        with self._lock:
            self._waiting.clear()
        if self._is_broken:
            _dismiss(kill=True)

    def _hand_out(self) -> None:
        while True:
            with self._lock:
                if not self._n_free or not self._waiting or self._is_broken:
                    return
                task = self._waiting.popleft()
                if (packed := _packed(task)) is None:
                    continue  # it cannot be sent, and is computed here
                self._n_free -= 1
                try:
                    future = _executor(self._n_workers).submit(_work, *packed)
                except RuntimeError:  # workers have died; this one is computed here
                    self._is_broken = True
                    return
                task.future = future
                self._at_work.add(future)
            future.add_done_callback(self._when_done)

    def _when_done(self, future: Any) -> None:
        with self._lock:
            self._at_work.discard(future)
            self._n_free += 1
            if future.cancelled() or future.exception() is not None:
                self._is_broken = True
        self._hand_out()


_present: ContextVar[_Crew | None] = ContextVar("workers of the block", default=None)
_kept: dict[str, Any] = {}  # the executor, its size and the process that made it


def _executor(n_workers: int) -> Any:
    """The workers of this process, begun when first needed."""
    wanted = (n_workers, os.getpid())
    if _kept.get("of") != wanted:
        _dismiss()
        _kept.update(of=wanted, executor=_new_executor(n_workers))
    return _kept["executor"]


def _new_executor(n_workers: int) -> Any:
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    return ProcessPoolExecutor(n_workers, timeout=IDLE_SECONDS, env=ONE_THREAD)


def _dismiss(kill: bool = False) -> None:
    of, executor = _kept.pop("of", None), _kept.pop("executor", None)
    if executor is not None and of is not None and of[1] == os.getpid():
        executor.shutdown(wait=kill, kill_workers=kill)


def _packed(task: Task[Any]) -> tuple[bytes, float | None] | None:
    """A task as `_work` takes it; None if it cannot be sent."""
    from joblib.externals.loky.cloudpickle_wrapper import dumps  # sends classes of a script, too

    try:
        return dumps((task.call, task.args)), task.ends
    except Exception:  # whatever an argument raises that is not made to be sent
        return None


def _work(packed: bytes, ends: float | None) -> bytes:
    """In the worker: the answer to a packed call, packed."""
    import joblib
    from joblib.externals.loky.cloudpickle_wrapper import dumps, loads

    try:
        call, args = loads(packed)
    except Exception:
        return bytes(dumps(_Answer(is_sent=False)))
    seconds = None if ends is None else ends - time.time()
    # a model of the user's may ask for jobs of its own: there are as many processes as were asked for already
    with joblib.parallel_config(backend="sequential"), deadline(seconds):
        answer = _answer(call, args)
    try:
        return bytes(dumps(answer))
    except Exception:
        return bytes(dumps(_Answer(is_sent=False)))


def _wait(future: Any) -> _Answer[Any]:
    from joblib.externals.loky.cloudpickle_wrapper import loads

    packed = future.result()
    try:
        answer: _Answer[Any] = loads(packed)
    except Exception:
        return _Answer(is_sent=False)
    return answer


class Awaited:
    """Numbers that another process will be told; to be made inside `worker_processes`, and sent with a task."""

    def __init__(self) -> None:
        crew = _present.get()
        assert crew is not None, "without workers nobody waits"
        crew.n_told += 1
        self._path, self._owner = crew.folder / f"{crew.n_told}.npy", os.getpid()

    def tell(self, values: FloatArray) -> None:
        """Make them known."""
        written = self._path.with_suffix(".part")
        with written.open("wb") as file:
            np.save(file, values)
        written.replace(self._path)

    def get(self, wait: bool = False) -> FloatArray | None:
        """The numbers; None if they are not known and are not to be waited for."""
        while not self._path.exists():
            if not wait:
                return None
            require_time()
            if not self._path.parent.exists() or (os.getpid() != self._owner and os.getppid() != self._owner):
                raise WorkerDied("who was to tell the numbers has ended")
            time.sleep(LOOK_SECONDS)
        values: FloatArray = np.load(self._path)
        return values
