"""Near which functions calls stop: those of the series, or those that were asked for, which must be there."""

from pathlib import Path

import msgspec
import pytest

from harness.local.progress import Progress
from harness.runs.near import ANYWHERE, near_of, require_near, tell_near
from kernel.kernel import Kernel, Provenance
from workloads.library import BadSelection

MAP = "0000000060001000 T ext4_link\n0000000060002000 t ext4_rename\n"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    (tmp_path / "System.map").write_text(MAP)
    made = Provenance("6.12+mine.patch", "", "", (), "", (), "", 0, 0, 0, "", changed=("ext4_rename",))
    return Kernel(str(tmp_path / "linux"), made)


def test_calls_stop_near_the_series_where_nothing_is_asked_for(kernel: Kernel) -> None:
    assert near_of((), kernel) == ("ext4_rename",)
    assert near_of(("ext4_link",), kernel) == ("ext4_link",)
    assert near_of(ANYWHERE, kernel) == ()


def test_a_function_that_the_kernel_does_not_have_is_refused_with_one_of_a_like_name(kernel: Kernel) -> None:
    require_near(("ext4_link", "ext4_rename"), [kernel])
    require_near(ANYWHERE, [kernel])
    with pytest.raises(
        BadSelection, match=r"6\.12\+mine\.patch has no function ext4_lin; did you mean ext4_link\?"
    ):
        require_near(("ext4_lin",), [kernel])
    with pytest.raises(BadSelection, match=r"no function q$"):
        require_near(("q",), [kernel])


def test_who_gets_no_stops_is_told(kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        tell_near((), [kernel], [f"w{number}" for number in range(10)], 12, progress)
        tell_near(ANYWHERE, [kernel], [], 12, progress)
        tell_near(("ext4_link",), [kernel], [], 12, progress)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "calls stop near ext4_rename, which the series change",
        "10 of 12 workloads do not come there, and get no recordings with stops: w0, w1, w2, w3, w4, w5, "
        "w6, w7 and 2 more",
        "calls stop near ext4_link",
    ]


def test_more_functions_than_a_guest_can_hold_are_refused_or_told(
    kernel: Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = tuple(f"ext4_function_{number}" for number in range(70))
    with pytest.raises(BadSelection, match=r"--near: 70 functions; name at most 64 of them"):
        require_near(many, [kernel])
    long = tuple(f"{number:02}{'x' * 97}" for number in range(50))  # 100 bytes each, with its comma
    with pytest.raises(BadSelection, match=r"name at most 40 of them"):
        require_near(long, [kernel])
    wide = Kernel(kernel.path, msgspec.structs.replace(kernel.provenance, changed=many))
    assert near_of((), wide) == many[:64]
    with Progress() as progress:
        tell_near((), [wide], [], 12, progress)
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "the series change 70 functions, of which the first 64 count; name others with --near"
