"""Prompts from Jinja templates: files under templates/<task>/, one for each setting.

A template holds `{% set version = "1" %}` and blocks, nothing else: `system` (optional), `user`, and `target`, the
answer in the demanded form, for training and for tests. Each block is rendered by itself to one message, so no data can
forge a role. Data goes in as values and is never parsed again: braces and Jinja syntax in it are plain text.

>>> template_version("satire/zero-shot.jinja").split("@")[0]
'satire/zero-shot'
"""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import jinja2
from jinja2 import nodes
from jinja2.meta import find_referenced_templates
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mixgrid.errors import UserError, allowed
from mixgrid.records import Message

SHIPPED = Path(__file__).parent / "templates"
# What a template can do wrong while it is rendered: an undefined name, what the sandbox refuses, its own arithmetic.
_TEMPLATE_FAULTS = (jinja2.TemplateError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
_BLOCKS = {"system", "target", "user"}


@dataclass(frozen=True)
class _Compiled:
    template: jinja2.Template
    version: str


class Prompts:
    """The templates of a folder, over those that ship; each is read and compiled once, so edits need a new object."""

    def __init__(self, root: Path | None = None) -> None:
        """Templates in `root` hide shipped ones of the same name."""
        folders = [root, SHIPPED] if root else [SHIPPED]
        self._env = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader(folders, encoding="utf-8-sig"), undefined=jinja2.StrictUndefined,
            autoescape=False, auto_reload=False, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._env.filters["json"] = partial(json.dumps, ensure_ascii=False)  # a target's text stays readable to a model
        self._compiled: dict[str, _Compiled] = {}

    def render(self, template: str, context: Mapping[str, object]) -> tuple[Message, ...]:
        """The messages of a prompt; a missing template or variable raises UserError."""
        found = self._compile(template)
        roles = ("system", "user") if "system" in found.template.blocks else ("user",)
        rendered = ((role, self._block(template, found.template, role, context)) for role in roles)
        return tuple(Message(role, content) for role, content in rendered if content)

    def target(self, template: str, context: Mapping[str, object]) -> str:
        """The answer in the form that the template demands; the context also holds `answer`, the right value."""
        return self._block(template, self._compile(template).template, "target", context)

    def version(self, template: str) -> str:
        """`<task>/<setting>@<declared version>+<hash of the sources>`: any edit, also of an included file, shows."""
        return self._compile(template).version

    def _block(self, name: str, template: jinja2.Template, block: str, context: Mapping[str, object]) -> str:
        try:
            return "".join(template.blocks[block](template.new_context(dict(context))))
        except _TEMPLATE_FAULTS as error:
            raise UserError(f"template {name!r}, block {block!r}: {error}; it was given {sorted(context)}") from error

    def _compile(self, name: str) -> _Compiled:
        if name not in self._compiled:
            sources = self._sources(name)
            declared = _declared_version(name, self._env.parse(sources[name]))
            digest = hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(sources.items())).encode()).hexdigest()
            version = f"{name.removesuffix('.jinja')}@{declared}+{digest[:8]}"
            try:
                self._compiled[name] = _Compiled(self._env.get_template(name), version)
            except jinja2.TemplateSyntaxError as error:  # a filter or test that does not exist
                raise UserError(f"template {name!r}, line {error.lineno}: {error.message}") from error
        return self._compiled[name]

    def _sources(self, name: str) -> dict[str, str]:
        """The text of a template and of all that it includes or imports, by name."""
        sources: dict[str, str] = {}
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in sources:
                sources[current] = self._source(current)
                waiting.extend(self._references(current, sources[current]))
        return sources

    def _source(self, name: str) -> str:
        assert self._env.loader is not None
        try:
            return self._env.loader.get_source(self._env, name)[0]
        except jinja2.TemplateNotFound as error:
            raise UserError(f"template {name!r} does not exist; {allowed(name, self._env.list_templates())}") from error
        except UnicodeDecodeError as error:
            raise UserError(f"template {name!r} is not UTF-8: {error}") from error

    def _references(self, name: str, source: str) -> list[str]:
        try:
            found = list(find_referenced_templates(self._env.parse(source)))
        except jinja2.TemplateSyntaxError as error:
            raise UserError(f"template {name!r}, line {error.lineno}: {error.message}") from error
        if None in found:
            _refuse(name, "it includes a file by a computed name, so no version can be given to it")
        return [reference for reference in found if reference is not None]


def _declared_version(name: str, tree: nodes.Template) -> str:
    """The version that a template states; what stands outside its blocks would be lost, so it is refused."""
    version, blocks = "", set()
    for node in tree.body:
        match node:
            case nodes.Block():
                blocks.add(node.name)
            case nodes.Assign(target=nodes.Name(name="version"), node=nodes.Const(value=str(value))):
                version = value
            case nodes.Output() if not "".join(_plain(n) for n in node.nodes).strip():
                pass
            case _:
                _refuse(name, f"line {node.lineno} stands outside its blocks; only `version` may be set there")
    if not version or not {"user"} <= blocks <= _BLOCKS:
        _refuse(name, 'it needs {% set version = "1" %} and blocks user, target, maybe system')
    return version


def _plain(node: nodes.Node) -> str:
    return node.data if isinstance(node, nodes.TemplateData) else "{{ }}"


def _refuse(name: str, why: str) -> NoReturn:
    raise UserError(f"template {name!r} cannot be used: {why}")


@functools.cache
def _shipped() -> Prompts:
    return Prompts()


def render(template: str, context: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages of a shipped template."""
    return _shipped().render(template, context)


def template_version(template: str) -> str:
    """The version of a shipped template."""
    return _shipped().version(template)
