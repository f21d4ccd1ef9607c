"""A parser that fails on a page that is not well formed."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest


class Page(HTMLParser):
    """Tags in order, identifiers, addresses and text of a page whose tags are all closed where they must be."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.identifiers: list[str] = []
        self.addresses: list[str] = []
        self.source, self.text = path.read_text(encoding="utf-8"), ""
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.identifiers += [str(value) for name, value in attributes if name == "id"]
        self.addresses += [str(value) for name, value in attributes if name.endswith(("href", "src"))]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        self.text += text

    def tile(self, label: str) -> tuple[str, str]:
        found = re.search(f'<dt>{label}</dt><dd class="value">(.*?)</dd><dd class="hint">(.*?)</dd>', self.source)
        assert found is not None
        return found[1], found[2]

    def fact(self, name: str) -> str:
        found = re.search(f'<th scope="row">{name}</th><td>(.*?)</td>', self.source)
        assert found is not None
        return found[1]


@pytest.fixture(scope="session")
def read() -> type[Page]:
    """A page, parsed."""
    return Page
