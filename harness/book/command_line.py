"""
reference/command-line.md, from the parser.

In:       the parser of the command line, and that of `test`.
Out:      generated(): the page, every command with every option.
Not here: the help texts (harness/commands/).
"""

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.book.tables import cell, table
from harness.commands.main import parser
from harness.commands.test import test_parser

PAGE = Path("docs/reference/command-line.md")
WIDTH = 100
HEAD = """# Command line

`powercut COMMAND [OPTION ...]`. From a checkout the program is `./powercut`.

| exit status | meaning |
| --- | --- |
| 0 | Every verdict is HOLDS. |
| 1 | Something is BROKEN. A known finding is BROKEN, too. |
| 2 | The command line, or a file that it names, is wrong. |
| 3 | An UNKNOWN verdict remains, the experiment could not be done, or nothing was examined. |

`run --planted` asks another question. It runs each planted bug on its own profiles, beside the stock kernel,
and prints the detection matrix. It ends 0 when every planted bug was detected and every finding on the stock
kernel is a known one, else 1.

Every command takes `--yes`, which allows Powercut to install missing Debian packages with `sudo`, and `-h`
or `--help`. Values in brackets are the defaults.

| environment variable | meaning |
| --- | --- |
| `POWERCUT_CACHE` | the folder for kernels, sources and environments (`~/.cache/powercut`) |
| `POWERCUT_CACHE_LIMIT` | how large that folder may become (`20G`) |
| `POWERCUT_HOSTS` | the file with the machines that are reached by ssh (`~/.config/powercut/hosts.toml`) |
"""


def generated(_root: Path) -> dict[Path, str]:
    top = parser()
    alone = [(shown(action), help_of(action, top)) for action in top._actions if is_shown(action)]
    parts = [HEAD, table(("option in place of a command", "meaning"), alone) + "\n"]
    listed = subcommands(top)
    parts.append(
        table(("command", "does"), [(f"[`{name}`](#{name})", sentence(about)) for name, about, _ in listed])
    )
    usual = options_of({name: command for name, _, command in listed}["run"])
    for name, about, command in listed:
        own = test_parser() if name == "test" else command
        parts += section(name, about, own, 2, {} if name == "run" else usual)
    return {PAGE: "\n".join(parts).rstrip() + "\n"}


Options = dict[str, str]  # as shown, with its help


def options_of(command: argparse.ArgumentParser) -> Options:
    return {shown(action): action.help or "" for action in command._actions if is_shown(action)}


def subcommands(of: argparse.ArgumentParser) -> list[tuple[str, str, argparse.ArgumentParser]]:
    """Name, its line of help, its parser."""
    found = []
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {each.dest: each.help or "" for each in action._choices_actions}
            found += [(name, about.get(name, ""), each) for name, each in action.choices.items()]
    return found


def section(
    name: str, about: str, command: argparse.ArgumentParser, level: int, usual: Options
) -> Iterator[str]:
    """usual: the options of `run`; a command that has all of them is said to, and shows its own."""
    also = bool(usual) and usual.items() <= options_of(command).items()
    actions = [
        action for action in command._actions if is_shown(action) and not (also and shown(action) in usual)
    ]
    yield f"\n{'#' * level} {name}\n"
    yield sentence(command.description or about)
    yield f"\n```text\n{usage(command, actions, also)}\n```"
    if also:
        yield f"\n`{name}` takes the workloads and every option of [`run`](#run), and:"
    if actions:
        rows = [(shown(action), help_of(action, command)) for action in actions]
        yield "\n" + table(("argument", "meaning"), rows)
    for each_name, each_about, each in subcommands(command):
        yield from section(f"{name} {each_name}", each_about, each, level + 1, {})


def is_shown(action: argparse.Action) -> bool:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return action.help is not argparse.SUPPRESS and not isinstance(action, hidden)


def shown(action: argparse.Action) -> str:
    """`--budget N`, `WORKLOAD`."""
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {value_of(action)}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def value_of(action: argparse.Action) -> str:
    name = action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}"
    assert isinstance(name, str)
    return {"*": f"[{name} ...]", "+": f"{name} ...", "?": f"[{name}]"}.get(str(action.nargs), name)


def help_of(action: argparse.Action, command: argparse.ArgumentParser) -> str:
    text = action.help or ""
    text = text % {**vars(action), "prog": command.prog} if "%" in text else text
    if action.choices is not None and action.metavar is not None:
        text += f": one of {', '.join(map(str, action.choices))}"
    return sentence(text)


def sentence(text: str) -> str:
    """With a capital and a full stop; what argparse prints has neither."""
    text = cell(text)
    if not text:
        return ""
    first = text if re.match(r"-|[a-z]+[-_(]", text) else text[0].upper() + text[1:]
    return first if first.endswith((".", "?", "!")) else f"{first}."


def usage(command: argparse.ArgumentParser, actions: Iterable[argparse.Action], also: bool) -> str:
    """One word or bracket after the other, on lines of a fixed width: that of --help is the terminal's."""
    if command.usage:
        return command.usage
    words = ["[WORKLOAD ...]", "[OPTION of run ...]"] if also else []
    words += [in_usage(action) for action in actions]
    if names := [name for name, _, _ in subcommands(command)]:
        words.append("{" + ",".join(names) + "} ...")
    lines = [command.prog]
    for word in words:
        if len(lines[-1]) + len(word) >= WIDTH:
            lines.append("   ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


def in_usage(action: argparse.Action) -> str:
    if not action.option_strings:
        name = action.metavar or action.dest
        return {"*": f"[{name} ...]", "?": f"[{name}]"}.get(str(action.nargs), str(name))
    option = action.option_strings[0]
    text = option if action.nargs == 0 else f"{option} {value_of(action)}"
    return text if action.required else f"[{text}]"
