#!/usr/bin/env python3
"""Every file of vectors has the form that vectors.schema.json describes."""

import json
import pathlib
import sys

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent


def main():
    schema = json.loads((HERE / "vectors.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    files = [path for path in sorted(HERE.glob("*.json")) if path.name != "vectors.schema.json"]
    steps = 0
    for path in files:
        document = json.loads(path.read_text())
        error = jsonschema.exceptions.best_match(validator.iter_errors(document))
        if error:
            sys.exit(f"{path.name}: {error.json_path}: {error.message}")
        steps += sum(len(vector["steps"]) for vector in document["vectors"])
    assert files and steps
    print(f"{steps} steps in {len(files)} files")


if __name__ == "__main__":
    main()
