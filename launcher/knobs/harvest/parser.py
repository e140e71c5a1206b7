"""Fills an argument parser as the engine's ``add_cli_args`` would, and keeps what was added."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from launcher.knobs.facts import Flag, Note, Value
from launcher.knobs.harvest.arguments import Argument, argument_source, flag
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.fields import Field, argument, fields
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import Module, SourceTree
from launcher.knobs.harvest.values import Class, Parser, Record, Scope, UnknowableError

_HELP = Flag("help", ("help",), "help", "bool", None, nargs=0, action="help", short=("-h",), help="Show help and exit.")


class ParserHarvest:
    """Follows one ``add_cli_args`` of one record class; `flags` and `notes` hold what came of it."""

    def __init__(self, tree: SourceTree, module: Module, owner: str, defaults: Mapping[str, Value]) -> None:
        self.flags: dict[str, Flag] = {"help": _HELP}
        self.notes: list[Note] = []
        self._module = module
        self._interpreter = Interpreter(tree, defaults)
        self._interpreter.hooks.update(
            add_argument=self._add_argument,
            add_argument_group=self._add_group,
            add_mutually_exclusive_group=self._add_group,
            add_cli_args_from_dataclass=self._add_fields,
            fields=self._records,
            record_fields=self._records,
        )
        self._class = self._declared_class(owner)
        self._fields = self._collect()
        self._field_names = frozenset(found.name for found in self._fields)

    def run(self, method: str = "add_cli_args") -> None:
        """Follows the method that fills the parser."""
        for node in self._class.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == method:
                self._follow(node)
                return
        self.notes.append(Note(self._module.place(self._class.node), f"{self._class.name} has no {method}"))

    def _follow(self, node: ast.FunctionDef) -> None:
        scope = Scope(self._module)
        names = [parameter.arg for parameter in node.args.args]
        first = names.index("parser") if "parser" in names else 0
        for parameter, default in zip(reversed(names), reversed(node.args.defaults), strict=False):
            scope.names[parameter] = self._interpreter.value_or_opaque(default, scope)
        scope.names[names[first]] = Parser()
        scope.names.setdefault("cls", self._class)
        self._interpreter.run(node.body, scope)

    def _declared_class(self, owner: str) -> Class:
        # A later rebinding, such as msgspec.defstruct, keeps the fields and the method of the class statement.
        for node in self._module.about(owner):
            if isinstance(node, ast.ClassDef):
                return Class(owner, node, self._module)
        raise LookupError(owner)

    def _collect(self) -> list[Field]:
        """The fields of every record class that the parser's class is put together from, then its own."""
        found: list[Field] = []
        for statement in self._module.tree.body:
            call = getattr(statement, "value", None)
            if isinstance(call, ast.Call) and source_of(call.func) == "collect_input_fields":
                sources = self._interpreter.value_or_opaque(call.args[0], Scope(self._module))
                if isinstance(sources, list):
                    found += [
                        each for source in sources if isinstance(source, Class) for each in self._fields_of(source)
                    ]
                else:
                    self.notes.append(Note(self._module.place(call), f"flags not read: {argument_source(call)}"))
        return found + self._fields_of(self._class)

    def _fields_of(self, owner: Class) -> list[Field]:
        return list(fields(self._interpreter, owner))

    def _add_argument(self, node: ast.Call, scope: Scope) -> object:
        target = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        parser = self._interpreter.value_or_opaque(target, scope)
        if not isinstance(parser, Parser):
            raise UnknowableError(source_of(node.func))
        self._interpreter.assumed.clear()
        options = [self._interpreter.value_or_opaque(option, scope) for option in node.args]
        if not all(isinstance(option, str) for option in options):
            self.notes.append(Note(scope.module.place(node), f"flag with a computed name: {argument_source(node)}"))
            return None
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            value = self._interpreter.value_or_opaque(keyword.value, scope)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords.update(value)
            else:
                self.notes.append(Note(scope.module.place(node), f"not all is known of: {argument_source(node)}"))
        when = " and ".join(self._interpreter.conditions) or None
        assumed = tuple(sorted(self._interpreter.assumed))
        self._keep(Argument(tuple(map(str, options)), keywords, scope.module.place(node), parser.group, when, assumed))
        return None

    def _add_group(self, node: ast.Call, scope: Scope) -> object:
        title = self._interpreter.value_or_opaque(node.args[0], scope) if node.args else None
        for keyword in node.keywords:
            if keyword.arg == "title":
                title = self._interpreter.value_or_opaque(keyword.value, scope)
        return Parser(title if isinstance(title, str) else None)

    def _add_fields(self, _node: ast.Call, _scope: Scope) -> object:
        for declared in self._fields:
            found = argument(self._interpreter, declared)
            if found is not None:
                self._keep(found)
        return None

    def _records(self, _node: ast.Call, _scope: Scope) -> object:
        return [Record(declared.name, declared.default) for declared in self._fields]

    def _keep(self, found: Argument) -> None:
        made = flag(found, self._field_names)
        if made is not None:
            self.flags[made.name] = made
