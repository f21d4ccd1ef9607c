"""Where an expression can be changed, what it is changed to, and where that place is after the code has moved.

A site is known by the function it is in, the text of its statement, the text of the expression and its replacement,
never by file or line. Only code that runs is changed: no docstring, annotation, string, error message or assertion.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
EXTREMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
}
LIKE = 0.7  # least similarity of the texts of a site and of the one of its function that it is taken for
ALIKE = 0.9  # the same where it may be of another function, or is a constant of a module
LONG = 15  # characters of an expression that is found by its text alone, whatever its function


@dataclass(frozen=True)
class Mutant:
    """A changed expression; `file` only helps to choose between equals, `occurrence` counts them within a file."""

    function: str
    statement: str
    before: str
    after: str
    operator: str
    occurrence: int
    file: str

    @property
    def id(self) -> str:
        """Ten characters that stand for all of it."""
        parts = (self.function, self.statement, self.before, self.after, str(self.occurrence), self.file)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]

    def to_json(self) -> dict[str, object]:
        """As written in a sample."""
        return {"id": self.id, **asdict(self)}

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is found by."""
        return self.function, self.statement, self.before, self.after


@dataclass(frozen=True)
class Site:
    """A place in a tree of files: the mutant it would be and its number among those of the file."""

    mutant: Mutant
    number: int


@dataclass
class Change:
    """A node of a parsed file and what takes its place; `owner` is the statement, or the function of a default."""

    function: str
    statement: str
    owner: ast.stmt
    node: ast.AST
    new: ast.AST
    operator: str


def changes_of(tree: ast.Module) -> list[Change]:
    """Every change of a file, in the order of its text."""
    return list(_in_body(tree.body, ""))


def sites_of(source: str, file: str) -> list[Site]:
    """Every site of a file."""
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for number, each in enumerate(changes_of(ast.parse(source))):
        key = (each.function, each.statement, ast.unparse(each.node), ast.unparse(each.new))
        occurrence = seen[key] = seen.get(key, -1) + 1
        found.append(Site(Mutant(*key, each.operator, occurrence, file), number))
    return found


def sites_under(root: Path, folder: str = "src") -> list[Site]:
    """Every site of the Python files of a folder, `file` relative to root."""
    paths = sorted((root / folder).rglob("*.py"))
    return [site for path in paths for site in sites_of(path.read_text(), path.relative_to(root).as_posix())]


def apply_change(source: str, number: int) -> str:
    """The file with one of its sites changed."""
    tree = ast.parse(source)
    change = changes_of(tree)[number]

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return change.new if node is change.node else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


# statements


def _in_body(body: Sequence[ast.stmt], scope: str) -> Iterator[Change]:
    for stmt in body:
        yield from _in_statement(stmt, scope)


def _in_statement(stmt: ast.stmt, scope: str) -> Iterator[Change]:
    function = scope or "<module>"
    match stmt:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            inside = f"{scope}.{stmt.name}".lstrip(".")
            for name, default in _defaults(stmt.args):
                yield from _in_expression(default, inside, f"{name}={ast.unparse(default)}", stmt)
            yield from _in_body(stmt.body, inside)
        case ast.ClassDef():
            yield from _in_body(stmt.body, f"{scope}.{stmt.name}".lstrip("."))
        case ast.If() | ast.While():
            if "TYPE_CHECKING" in ast.unparse(stmt.test):
                return
            text = f"{'if' if isinstance(stmt, ast.If) else 'while'} {ast.unparse(stmt.test)}:"
            if isinstance(stmt, ast.If):
                yield Change(function, text, stmt, stmt.test, _negated(stmt.test), "negated condition")
            yield from _in_expression(stmt.test, function, text, stmt)
            yield from _in_body([*stmt.body, *stmt.orelse], scope)
        case ast.For():
            text = f"for {ast.unparse(stmt.target)} in {ast.unparse(stmt.iter)}:"
            yield from _in_expression(stmt.iter, function, text, stmt)
            yield from _in_body([*stmt.body, *stmt.orelse], scope)
        case ast.With():
            for item in stmt.items:
                yield from _in_expression(item.context_expr, function, f"with {ast.unparse(item)}:", stmt)
            yield from _in_body(stmt.body, scope)
        case ast.Try():
            handled = [inner for handler in stmt.handlers for inner in handler.body]
            yield from _in_body([*stmt.body, *handled, *stmt.orelse, *stmt.finalbody], scope)
        case ast.Match():
            yield from _in_body([inner for each in stmt.cases for inner in each.body], scope)
        case _:
            yield from _in_simple(stmt, function)


def _in_simple(stmt: ast.stmt, function: str) -> Iterator[Change]:
    """Changes of a statement without a body."""
    match stmt:
        case ast.Return(value=ast.expr() as value):
            text = ast.unparse(stmt)
            if not (isinstance(value, ast.Constant) and value.value is None):
                yield Change(function, text, stmt, value, ast.Constant(None), "returned value")
            yield from _in_expression(value, function, text, stmt)
        case ast.Assign(value=value, targets=targets):
            if "__all__" not in [ast.unparse(target) for target in targets]:
                yield from _in_expression(value, function, ast.unparse(stmt), stmt)
        case ast.AnnAssign(value=ast.expr() as value, target=target):
            yield from _in_expression(value, function, f"{ast.unparse(target)} = {ast.unparse(value)}", stmt)
        case ast.AugAssign(value=value, op=op):
            if type(op) in ARITHMETIC and not _has_text(value):
                new = ast.AugAssign(stmt.target, ARITHMETIC[type(op)](), value)
                yield Change(function, ast.unparse(stmt), stmt, stmt, new, "arithmetic")
            yield from _in_expression(value, function, ast.unparse(stmt), stmt)
        case ast.Expr(value=value) if not isinstance(value, ast.Constant) and "warn" not in ast.unparse(value):
            yield from _in_expression(value, function, ast.unparse(stmt), stmt)


def _defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    plain = [*args.posonlyargs, *args.args]
    yield from zip((arg.arg for arg in plain[len(plain) - len(args.defaults) :]), args.defaults, strict=True)
    yield from ((arg.arg, each) for arg, each in zip(args.kwonlyargs, args.kw_defaults, strict=True) if each)


# expressions


def _in_expression(root: ast.expr, function: str, statement: str, owner: ast.stmt) -> Iterator[Change]:
    """Changes of an expression, outermost first."""
    if isinstance(root, ast.JoinedStr):
        return
    for operator, new in _replacements(root):
        yield Change(function, statement, owner, root, new, operator)
    if isinstance(root, ast.UnaryOp) and isinstance(root.operand, ast.Constant):
        return
    for child in ast.iter_child_nodes(root):
        if isinstance(child, ast.expr):
            yield from _in_expression(child, function, statement, owner)
        elif isinstance(child, ast.keyword):
            yield from _in_expression(child.value, function, statement, owner)
        elif isinstance(child, ast.comprehension):
            for inner in (child.iter, *child.ifs):
                yield from _in_expression(inner, function, statement, owner)


def _replacements(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield "comparison", ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _has_text(node):
            yield "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right)
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", ast.Constant(2 * value if value else 1.0)
        case ast.BoolOp(op=op):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values)
        case ast.IfExp():
            yield "negated condition", ast.IfExp(_negated(node.test), node.body, node.orelse)
        case ast.UnaryOp(op=ast.USub()):
            yield "minus dropped", node.operand
        case ast.UnaryOp(op=ast.Not()):
            yield "negated condition", node.operand
        case ast.Call(func=ast.Name(id=name)) if name in EXTREMES:
            yield "min, max", ast.Call(ast.Name(EXTREMES[name]), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(attr=name) as func) if name in EXTREMES:
            yield "min, max", ast.Call(ast.Attribute(func.value, EXTREMES[name]), node.args, node.keywords)


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _has_text(node: ast.AST) -> bool:
    """Whether an addition may be one of strings, lists or tuples."""
    operands = [node.left, node.right] if isinstance(node, ast.BinOp) else [node]
    joined = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
    return any(
        isinstance(each, joined)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
        or (isinstance(each, ast.BinOp) and _has_text(each))
        for each in operands
    )


# finding again


class Index:
    """The sites of a tree, to find mutants of an earlier one in it."""

    def __init__(self, sites: Sequence[Site], renames: Mapping[str, str] | None = None) -> None:
        self.sites = sites
        self.renames = dict(renames or {})
        self._by_key: dict[tuple[str, ...], list[Site]] = {}
        for site in sites:
            self._by_key.setdefault(site.mutant.key, []).append(site)

    def find(self, mutant: Mutant) -> tuple[Site | None, str]:
        """The site of a mutant and how it was found, or None and why it was not."""
        wanted = self._rename(mutant)
        for how, each in (("exact", mutant), ("renamed", wanted)):
            if each.key in self._by_key:
                return _choose(self._by_key[each.key], mutant), how
        name = wanted.function.split(".")[-1]
        same = [site for site in self.sites if site.mutant.operator == wanted.operator]
        homes = [site for site in same if site.mutant.function == wanted.function]
        namesakes = [site for site in same if site.mutant.function.split(".")[-1] == name]
        least = ALIKE if wanted.function == "<module>" else LIKE
        for how, sites, like in (
            ("closest in its function", homes, least),
            ("closest in a function of its name", namesakes, ALIKE),
        ):
            site = _closest(sites, wanted, like)
            if site is not None:
                return site, how
        moved = [site for site in same if site.mutant.key[1:] == wanted.key[1:]]
        if moved:
            return _choose(moved, mutant), "the same statement in another function"
        alike = [site for site in same if site.mutant.before == wanted.before and len(wanted.before) >= LONG]
        if alike:
            return _choose(alike, mutant), "the same expression in another function"
        is_there = any(site.mutant.function.split(".")[-1] == name for site in self.sites)
        return None, f"no such expression in {name}" if is_there else f"no function {name}"

    def _rename(self, mutant: Mutant) -> Mutant:
        def translate(text: str) -> str:
            return re.sub(r"[A-Za-z_]\w*", lambda word: self.renames.get(word.group(), word.group()), text)

        texts = {key: translate(getattr(mutant, key)) for key in ("function", "statement", "before", "after")}
        return Mutant(**{**asdict(mutant), **texts})


def _choose(sites: Sequence[Site], mutant: Mutant) -> Site:
    """Of equal sites, the one of the same number in the file most like the mutant's."""
    return max(
        sites, key=lambda site: (_likeness(site.mutant.file, mutant.file), site.mutant.occurrence == mutant.occurrence)
    )


def _closest(sites: Sequence[Site], wanted: Mutant, like: float) -> Site | None:
    """The site whose texts are most alike, if any are alike enough; a constant must be the same one."""
    exact = wanted.operator == "constant"
    rated = [(_rate(site.mutant, wanted), site) for site in sites if not exact or site.mutant.before == wanted.before]
    best = max(rated, key=lambda pair: pair[0], default=(0.0, None))
    return best[1] if best[0] >= like else None


def _rate(one: Mutant, other: Mutant) -> float:
    return min(
        _likeness(one.statement, other.statement),
        _likeness(one.before, other.before),
        _likeness(one.after, other.after) if other.operator != "returned value" else 1.0,
    )


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
