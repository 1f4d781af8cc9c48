"""
Every series of ours applies to every release of Debian's, or its header tells why there is nothing to change.

In:       kernel/series/, the sources 5.10, 6.1, 6.12 and 7.2 by name; nothing is compiled.
Out:      for each release the series that do not apply, with the reason.
Not here: that what they change compiles and can be seen (test_before.py, `powercut run --planted`).
"""

import re
import shutil
from pathlib import Path

import pytest

from kernel.kernel import BadKernel
from kernel.patching import apply, files_of, find_series, known_series
from kernel.release import unpacked
from kernel.source import examine
from kernel.word import RELEASES, parse

pytestmark = [pytest.mark.series, pytest.mark.timeout(3600)]


def quiet(_stage, _fraction):
    pass


@pytest.fixture(scope="module", params=RELEASES)
def release(request):
    """A version and the folder of its source."""
    source = parse(request.param).source
    return request.param, unpacked(source, examine(source, quiet).version, quiet)


def why_not(name, version, linux, scratch):
    """ "" where it applies or says that it is absent there."""
    try:
        series = find_series(name, version)
    except BadKernel as error:
        return "" if f"{name} cannot be used with {version}: " in str(error) else str(error)
    for file in changed_files(series):
        copy = scratch / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(linux / file, copy)
    try:
        apply(series, scratch)
    except BadKernel as error:
        return str(error)
    return ""


def changed_files(series):
    if series.suffix == ".cocci":
        return files_of(series)
    return tuple(dict.fromkeys(re.findall(r"^\+\+\+ b/(\S+)", series.content.decode(), re.MULTILINE)))


def test_every_series_applies_or_says_that_it_is_absent(tmp_path, release):
    """No release is without series: a header that called all of them absent would be found out."""
    version, linux = release
    names = [one.name for one in known_series()]
    reasons = {name: why_not(name, version, Path(linux), tmp_path / name) for name in names}
    assert {name: reason for name, reason in reasons.items() if reason} == {}
    assert sum((tmp_path / name).is_dir() for name in names) > len(names) / 2
