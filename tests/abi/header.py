"""What rl.h declares, read from its text. The header is written by hand in one fixed form, so patterns are enough."""
import pathlib
import re


def clean(path):
    """The header without comments and line continuations."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")


def functions(path):
    return re.findall(r"\bRL_API\b[^;{]*?\b(rl_\w+)\s*\(", clean(path))


def macros(path):
    """Names of all macros but the include guard."""
    return [name for name in re.findall(r"^\s*#\s*define\s+(\w+)", clean(path), flags=re.M) if name != "RATEL_RL_H"]


def types(path):
    text = clean(path)
    names = re.findall(r"\btypedef\s+(?:struct\s+)?[\w ]+?\b(rl_\w+)\s*;", text)
    names += re.findall(r"\}\s*(rl_\w+)\s*;", text)
    names += re.findall(r"\(\s*\*\s*(rl_\w+)\s*\)", text)
    return sorted(set(names))


def structs(path):
    """(struct, [fields]) of every struct whose inside the header shows, in its order."""
    found = []
    for match in re.finditer(r"\btypedef\s+struct\s+(rl_\w+)\s*\{(.*?)\}\s*\1\s*;", clean(path), flags=re.S):
        fields = []
        for declaration in filter(str.strip, match[2].split(";")):
            pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", declaration)
            plain = re.search(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", declaration)
            fields.append((pointer or plain)[1])
        found.append((match[1], fields))
    return found
