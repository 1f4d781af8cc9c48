"""
A source tree of four files that "compiles" in milliseconds with the real make, and git in it, for tests.

In:       a directory; what fs/a.c and fs/b.c shall say.
Out:      a tree with the kernel's outer shape: merge_config.sh, make O=..., a program `linux`.
Not here: the real kernel's build, which the suites under harness/ do.

Each object depends on a tool that notes, as those of the kernel's tools/ do, with which absolute path it was
built, and is built anew under another. fs/*.c holding the word "broken" does not compile. While the file
`hold` (beside the tree) is there, the compiler waits.
"""

import subprocess
from pathlib import Path

_MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 99

OBJECTS := $(O)/a.o $(O)/b.o
TOOL := $(O)/tools/tool
$(shell mkdir -p $(O)/tools; grep -qsF "$(CURDIR)/$(TOOL)" $(O)/tools/.tool.cmd || rm -f $(TOOL))

linux: $(OBJECTS)
\t@echo "  LINK    linux"
\t@cat $(OBJECTS) > $(O)/linux
\t@echo map > $(O)/System.map

vmlinux: linux
\t@cp $(O)/linux $(O)/vmlinux

Image: linux
\t@mkdir -p $(O)/arch/arm64/boot
\t@cp $(O)/linux $(O)/arch/arm64/boot/Image

$(TOOL):
\t@echo "  HOSTCC  tool"
\t@echo "cmd_$(CURDIR)/$(TOOL) := cc -o $(CURDIR)/$(TOOL)" > $(O)/tools/.tool.cmd
\t@touch $(TOOL)

$(O)/%.o: fs/%.c $(TOOL)
\t@echo "  CC      fs/$*.o"
\t@while test -e HOLD; do sleep 0.05; done
\t@if grep broken $<; then echo "$<:1:1: error: broken"; exit 1; fi
\t@cp $< $@
"""

_MERGE = """\
out=$3
shift 3
cat "$@" | grep CONFIG_ | grep -v CONFIG_REFUSED > $out/.config || true
"""


def make_tree(directory: Path, a: str = "int a;\n", b: str = "int b;\n") -> Path:
    files = {
        "Makefile": _MAKEFILE.replace("HOLD", str(hold(directory))),
        "Kconfig": "",
        "arch/um/Kconfig": "",
        "scripts/kconfig/merge_config.sh": _MERGE,
        "fs/a.c": a,
        "fs/b.c": b,
    }
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def git(tree: Path, *words: str) -> str:
    """What git says there, as a committer of its own."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(tree), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def hold(tree: Path) -> Path:
    return tree.parent / "hold"


def commit(repository: Path, message: str) -> str:
    """All that is there, changed or not; the commit's hash."""
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", message)
    return git(repository, "rev-parse", "HEAD")
