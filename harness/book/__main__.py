"""
`python -m harness.book`: write the generated parts of the documents, or check the documents.

In:       the words of the command line; the checkout that this module is part of.
Out:      written documents; or what is wrong with them, a line each; exit status 1 when something is.
Not here: the checks (generate.py, links.py, nesting.py, commands.py, runner.py), the site (mkdocs build).
"""

import argparse
import itertools
import sys

from harness.book import commands, links, nesting, runner
from harness.book.documents import BadMark, documents
from harness.book.generate import stale, write
from harness.book.oracles import NoSentence
from harness.book.regions import BadRegions
from harness.local.root import ROOT


def arguments_of(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m harness.book",
        description="Write the generated parts of the documents. With an option, check, and write nothing.",
    )
    parser.add_argument(
        "--check", action="store_true", help="generated parts, links, lists, and how commands are written"
    )
    parser.add_argument("--external", action="store_true", help="list external links and ask each server")
    parser.add_argument(
        "--run", nargs="*", metavar="DOCUMENT", help="run the commands of these documents; none means all"
    )
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    arguments = arguments_of(words)
    wrong: list[str] = []
    try:
        if not (arguments.check or arguments.external or arguments.run is not None):
            for path in write(ROOT):
                print(path)
            return 0
        known = documents(ROOT)
        if arguments.check:
            wrong += stale(ROOT)
            wrong += links.complaints(known, ROOT)
            wrong += nesting.complaints(ROOT)
            wrong += itertools.chain(*(commands.complaints(document, ROOT) for document in known))
        if arguments.run is not None:
            for document in known:
                if not arguments.run or document.path in arguments.run:
                    wrong += runner.run_document(document, ROOT)
        if arguments.external:
            addresses = links.external(known)
            print("\n".join(f"{place}: {address}" for address, place in addresses.items()))
            wrong += links.unanswered(addresses)
    except (BadMark, BadRegions, NoSentence) as error:
        wrong.append(str(error))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
