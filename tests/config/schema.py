#!/usr/bin/env python3
"""schema.py ROOT: the schema's verdicts on tests/data/config are the reader's.

Good files pass. In a bad file the schema finds fault with the same top-level keys and the same rules as the reader, whose
report stands beside the file; with those that bad/reader_only.txt names it finds none.
"""
import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """Scalars as in YAML 1.2 and JSON, which is what editors go by; keys are always texts."""

    yaml_implicit_resolvers = {}

    def construct_mapping(self, node, deep=False):
        if any(not isinstance(key, yaml.ScalarNode) for key, _ in node.value):
            raise yaml.YAMLError("a key that is no scalar")
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


def construct_map(loader, node):
    return loader.construct_mapping(node)


def construct_int(loader, node):
    text = node.value
    return int(text, 0) if re.match(r"0[ox]", text) else int(text)


Loader.add_constructor("tag:yaml.org,2002:map", construct_map)
Loader.add_constructor("tag:yaml.org,2002:int", construct_int)
Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))
Loader.add_constructor("tag:yaml.org,2002:bool", lambda loader, node: node.value.lower() == "true")
for kind, pattern, first in (
    ("null", r"(|~|null|Null|NULL)$", ["~", "n", "N", ""]),
    ("bool", r"(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$", list("-+.0123456789")),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), first)


def load(path):
    text = path.read_bytes().decode("utf-8-sig")
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader)


def unit(path):
    """"rules[3]" of "rules[3].limits[0].window"; else the top-level key."""
    return re.match(r"(rules\[\d+\]|\w*)", path)[0]


def schema_units(validator, path):
    """The top-level keys and rules that the schema finds fault with; {""} when the text cannot be parsed at all."""
    try:
        data = load(path)
    except (ValueError, yaml.YAMLError):
        return {""}
    units = set()
    for error in validator.iter_errors(data):
        steps = list(error.absolute_path)
        if steps[:1] == ["rules"] and len(steps) > 1:
            units.add(f"rules[{steps[1]}]")
        elif steps:
            units.add(steps[0])
        elif error.validator == "additionalProperties":
            units |= set(data) - set(error.schema["properties"])
        else:
            units.add("")
    return units


def reader_units(path):
    lines = path.with_name(path.name + ".expected").read_text(encoding="utf-8").splitlines()
    return {unit(line.split(" ", 1)[1].split(": ", 1)[0]) for line in lines}


def reader_only(folder):
    lines = (folder / "reader_only.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


def corpus(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in {".yaml", ".yml", ".json"} and path.name[0] != ".")


def faults(root):
    validator_class = jsonschema.Draft7Validator
    schema = json.loads((root / "schema/rules.schema.json").read_text(encoding="utf-8"))
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    data = root / "tests/data/config"
    for path in corpus(data / "good"):
        if found := schema_units(validator, path):
            yield f"{path.name}: good, and the schema finds fault with {sorted(found)}"
    exempt = reader_only(data / "bad")
    listed = set()
    for path in corpus(data / "bad"):
        name = path.relative_to(data / "bad").parts[0]
        listed.add(name)
        if path.parent != data / "bad":
            continue
        expected = set() if name in exempt else reader_units(path)
        found = schema_units(validator, path)
        if found != expected and not (found and "" in expected):
            yield f"{name}: the reader finds fault with {sorted(expected)}, the schema with {sorted(found)}"
    for name in exempt.keys() - listed:
        yield f"reader_only.txt: there is no {name}"


def main():
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "the schema agrees with the reader")
    return 1 if found else 0


sys.exit(main())
