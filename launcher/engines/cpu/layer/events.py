"""CUDA events that do nothing.

SGLang's prefill scheduler makes a ``torch.cuda.Event`` whenever a cached prefix is sent and overlap scheduling is
on, on every device (0.5.23, ``srt/disaggregation/prefill.py``); CPU torch raises there. On a CPU the work is done by
the time an event would be recorded, so an event that is always complete tells the truth.
"""

from types import ModuleType

from .hooks import after_import


class CompletedEvent:
    """An event on a device whose work is always done."""

    def __init__(self, *_args: object, **_options: object) -> None: ...

    def record(self, *_stream: object) -> None:
        """Nothing to record: the work before it has ended."""

    def wait(self, *_stream: object) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """Complete, always."""
        return True

    def elapsed_time(self, _end: object) -> float:
        """No time passes between events that are never pending; milliseconds."""
        return 0.0


def replace_events(prefill: ModuleType) -> None:
    """Give the torch that `prefill` uses a `CompletedEvent` for its CUDA event, unless there is a GPU."""
    cuda = prefill.torch.cuda
    if not cuda.is_available():
        cuda.Event = CompletedEvent


def install() -> None:
    """Replace the event once SGLang's prefill scheduler is imported: it looks it up at every use."""
    after_import("sglang.srt.disaggregation.prefill", replace_events)
