"""The files that are ready to copy: each is read by what will read it, or by a schema of its maker."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.local.root import ROOT
from harness.nightly.file import parse
from harness.nightly.plan import candidates

EXAMPLES = ROOT / "harness" / "nightly" / "examples"
LEFT_BEHIND = ("index.html", "night.txt", "night.json", "junit.xml", "results.ktap", "kcidb.json")


def test_the_file_of_nights_is_one_and_its_workloads_exist():
    asked = parse((EXAMPLES / "nightly.toml").read_text(), EXAMPLES / "nightly.toml")
    assert [kernel.name for kernel in asked.kernel] == ["mainline", "debian"]
    assert len(candidates(asked.workloads)) > 100


@pytest.mark.parametrize(
    ("name", "schema"),
    [("github-workflow.yml", "vendor.github-workflows"), ("gitlab-ci.yml", "vendor.gitlab-ci")],
)
def test_a_job_is_what_the_schema_of_its_ci_allows(name, schema, tmp_path):
    """The schemas come with check-jsonschema; a wrong key must be refused, or the check says nothing."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    good = subprocess.run([*command, EXAMPLES / name], capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stdout + good.stderr
    wrong = tmp_path / "wrong.yml"
    text = (EXAMPLES / name).read_text()
    wrong.write_text(re.sub(r"runs-on:|artifacts:", "artefacts:", text))
    assert subprocess.run([*command, wrong], capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("name", ["github-workflow.yml", "gitlab-ci.yml"])
def test_a_job_keeps_what_a_night_leaves(name):
    text = (EXAMPLES / name).read_text()
    assert all(each in text for each in LEFT_BEHIND)
    assert yaml.safe_load(text)


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze, of Debian's systemd"
)
def test_the_service_and_its_timer_are_units_of_systemd(tmp_path):
    """In a home where the checkout lies as the service says. A key that is wrong must be told."""
    (tmp_path / "powercut").symlink_to(ROOT)
    units = tmp_path / "units"
    units.mkdir()
    for kind in ("service", "timer"):
        shutil.copy(EXAMPLES / f"powercut-nightly.{kind}", units)
    assert verified(units, tmp_path) == (0, "")
    service = units / "powercut-nightly.service"
    service.write_text(service.read_text().replace("KillMode=mixed", "KilMode=mixed"))
    assert "Unknown key" in verified(units, tmp_path)[1]


def verified(units: Path, home: Path) -> tuple[int, str]:
    """Exit status, and what is said of these units: a machine's own may have faults of their own."""
    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", *sorted(units.iterdir())],
        env=os.environ | {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if "powercut" in line]
    return done.returncode, "\n".join(lines)


def test_the_command_of_the_service_is_one_of_ours():
    from harness.commands.main import understood  # noqa: PLC0415

    (line,) = re.findall(
        r"^ExecStart=(.*)$", (EXAMPLES / "powercut-nightly.service").read_text(), re.MULTILINE
    )
    arguments = understood(line.split()[1:])
    assert arguments.command == "nightly"


def test_the_schema_of_the_file_takes_the_example_and_refuses_an_unknown_key():
    """docs/reference/nightly.schema.json, for editors."""
    import tomllib  # noqa: PLC0415

    import jsonschema  # noqa: PLC0415

    schema = json.loads((ROOT / "docs" / "reference" / "nightly.schema.json").read_text())
    example = tomllib.loads((EXAMPLES / "nightly.toml").read_text())
    jsonschema.validate(example, schema)
    with pytest.raises(jsonschema.ValidationError, match="budgte"):
        jsonschema.validate(example | {"budgte": "6h"}, schema)
