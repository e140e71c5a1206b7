"""Run by an interpreter that has what it needs: prints what an engine itself says of its flags or variables, as JSON.

``flags MODULE CLASS`` fills the engine's own argument parser; ``registry FILE`` executes an environ.py alone.
"""

import argparse
import importlib
import json
import sys


def flags(module: str, owner: str) -> dict[str, dict[str, object]]:
    """Every option that the engine's own parser has, by its first long name."""
    parser = argparse.ArgumentParser()
    getattr(importlib.import_module(module), owner).add_cli_args(parser)
    found: dict[str, dict[str, object]] = {}
    for action in parser._actions:
        long = [option for option in action.option_strings if option.startswith("--")]
        found[long[0].removeprefix("--")] = {
            "options": action.option_strings,
            "dest": action.dest,
            "default": plain(action.default),
            "choices": None if action.choices is None else [plain(choice) for choice in action.choices],
            "nargs": action.nargs,
            "const": plain(action.const),
            "required": action.required,
            "type": getattr(action.type, "__name__", None),
            "action": type(action).__name__,
            "help": action.help,
        }
    return found


def registry(file: str) -> dict[str, dict[str, object]]:
    """Every variable that the registry declares, with its default in an empty environment."""
    names: dict[str, object] = {"__name__": "environ", "__file__": file}
    try:
        with open(file, encoding="utf-8") as source:  # noqa: PTH123 - the engine's Python may have any start-up path
            exec(compile(source.read(), file, "exec"), names)  # noqa: S102 - the point of this script
    except ModuleNotFoundError:
        pass  # 0.5.12 imports another module of the engine at its very end
    fields = {name: field for name, field in vars(names["Envs"]).items() if hasattr(field, "default")}
    return {
        name: {
            "class": type(field).__name__,
            "default": plain(field.default() if callable(field.default) else field.default),
            "secret": getattr(field, "secret", False),
            "deprecated_name": getattr(field, "deprecated_name", None),
        }
        for name, field in fields.items()
    }


def plain(value: object) -> object:
    """The value as JSON has it; its text where JSON has none."""
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, int) or isinstance(value, bool) else int(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return repr(value)


if __name__ == "__main__":
    json.dump(flags(*sys.argv[2:]) if sys.argv[1] == "flags" else registry(sys.argv[2]), sys.stdout)
