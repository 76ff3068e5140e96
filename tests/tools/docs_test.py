"""What the documents show is what the command prints, and their rule files are good ones."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

RATEL = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S)


def sessions(block):
    """The commands of a console block, each with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


class Documents(unittest.TestCase):
    maxDiff = None

    def test_commands_print_what_is_shown(self):
        shown = 0
        environment = {**os.environ, "PATH": f"{RATEL.parent}{os.pathsep}{os.environ['PATH']}"}
        for document in DOCUMENTS:
            for block in blocks(document, "console"):
                for command, output in sessions(block):
                    with self.subTest(document=document.name, command=command):
                        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60,
                                              cwd=HERE / "data", env=environment, check=False)
                        self.assertEqual(done.stdout + done.stderr, output)
                        shown += 1
        self.assertGreater(shown, 5)

    def test_rule_files_are_without_faults(self):
        checked = 0
        for document in DOCUMENTS:
            for block in blocks(document, "yaml"):
                if not block.startswith("version:"):
                    continue
                with self.subTest(document=document.name, block=block[:80]):
                    done = subprocess.run([RATEL, "check", "-"], input=block, capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    checked += 1
        self.assertGreater(checked, 0)

    def test_links_lead_somewhere(self):
        for document in DOCUMENTS:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
                if "://" not in target:
                    self.assertTrue((document.parent / target).exists(), f"{document.name}: {target}")

    def test_every_document_is_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
        for document in DOCUMENTS[1:]:
            if document.name != "README.md":
                self.assertIn(f"({document.name})", index)


unittest.main(argv=sys.argv[:1], verbosity=2)
