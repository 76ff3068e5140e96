"""The `ratel` command as a program: what it prints, where, and how it ends."""
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

RATEL = os.path.abspath(sys.argv[1])
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
GOOD, BAD, NEW, LOG = "rules.yaml", "bad.yaml", "new-rules.yaml", "access.log"


def run(*arguments, stdin=None, env=None, **named):
    done = subprocess.run([RATEL, *arguments], input=stdin, capture_output=True, text=True, cwd=DATA, timeout=60,
                          env={**os.environ, **(env or {})}, **named)
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    maxDiff = None

    def ok(self, *arguments, **named):
        code, out, err = run(*arguments, **named)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def json(self, *arguments, code=0, **named):
        got, out, err = run(*arguments, "--json", **named)
        self.assertEqual((got, err), (code, ""), out)
        return json.loads(out)

    def refused(self, *arguments, **named):
        """Wrong use: status 2, a reason on standard error, nothing on standard output."""
        code, out, err = run(*arguments, **named)
        self.assertEqual((code, out), (2, ""), err)
        self.assertNotEqual(err, "")
        return err


class Check(Case):
    FAULTS = [("6:12", "rules[0].limit"), ("7:13", "rules[0].window"), ("8:11", "rules[1].name"),
              ("10:12", "rules[1].scope"), ("13:5", "rules[1].burts")]

    def test_good(self):
        self.assertEqual(self.ok("check", GOOD), "rules.yaml: 4 rules, no faults\n")

    def test_all_faults_with_their_places(self):
        code, out, err = run("check", BAD)
        self.assertEqual((code, err), (1, ""))
        lines = out.splitlines()
        self.assertEqual(lines[-1], "bad.yaml: 5 faults")
        for (place, path), line in zip(self.FAULTS, lines, strict=False):
            self.assertRegex(line, rf"^bad\.yaml:{place}: {re.escape(path)}: \S")
        self.assertEqual(len(lines), len(self.FAULTS) + 1)

    def test_several_files_each_on_its_own(self):
        code, out, _ = run("check", GOOD, BAD, NEW)
        self.assertEqual(code, 1)
        self.assertIn("rules.yaml: 4 rules, no faults\n", out)
        self.assertTrue(out.endswith("new-rules.yaml: 3 rules, no faults\n"), out)

    def test_folder_is_one_set(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(DATA, GOOD), os.path.join(folder, "a.yaml"))
            self.assertEqual(self.ok("check", folder), f"{folder}: 4 rules, no faults\n")
            shutil.copy(os.path.join(DATA, GOOD), os.path.join(folder, "b.yaml"))
            code, out, _ = run("check", folder)
            self.assertEqual(code, 1)
            self.assertRegex(out, r"b\.yaml:3:11: rules\[0\]\.name: .*a\.yaml:3")

    def test_standard_input(self):
        one = '{"version": 1, "rules": [{"name": "a", "scope": "user", "limit": 1, "window": "1s"}]}'
        self.assertEqual(self.ok("check", "-", stdin=one), "<stdin>: 1 rule, no faults\n")
        code, out, _ = run("check", "-", stdin="rules: [")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"^<stdin>:\d+:\d+: ")

    def test_json(self):
        self.assertEqual(self.json("check", GOOD), {"ok": True, "files": [{"file": GOOD, "rules": 4, "faults": []}]})
        report = self.json("check", BAD, code=1)
        faults = report["files"][0]["faults"]
        self.assertFalse(report["ok"])
        self.assertEqual([(f"{f['line']}:{f['column']}", f["path"]) for f in faults], self.FAULTS)
        self.assertTrue(all(f["message"] and f["file"] == BAD for f in faults))

    def test_bytes_that_are_no_text(self):
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            file.write(b"version: 1\nrules: [{name: \xff\xfe}]\n")
            file.flush()
            code, out, _ = run("check", file.name)
            self.assertEqual(code, 1, out)
            self.json("check", file.name, code=1)

    def test_not_to_be_read(self):
        self.assertIn("/nowhere.yaml", self.refused("check", "/nowhere.yaml"))


class Explain(Case):
    ORDER = ("explain", GOOD, "POST", "/orders", "--user", "alice", "--ip", "192.0.2.1", "--now", "2026-07-01T12:00:00Z")

    def test_text(self):
        out = self.ok(*self.ORDER)
        for part in ("POST /orders", "create-order", "user=alice", "allowed"):
            self.assertIn(part, out)
        self.assertTrue(out.endswith("\n") and not out.endswith("\n\n"))

    def test_requests_before(self):
        self.assertIn("allowed", self.ok(*self.ORDER, "--after", "4").splitlines()[-1])
        last = self.ok(*self.ORDER, "--after", "5").splitlines()[-1]
        self.assertIn("denied", last)
        self.assertIn("12s", last)

    def test_cost(self):
        self.assertIn("never", self.ok(*self.ORDER, "--cost", "6"))
        for cost in ("0", "-1", "x", "1.5", "9223372036854775808", "99999999999999999999"):
            self.assertIn("--cost", self.refused(*self.ORDER, "--cost", cost))

    def test_json(self):
        self.assertIsInstance(self.json(*self.ORDER), dict)

    def test_instants(self):
        same = [self.json(*self.ORDER[:-1], now) for now in
                ("2026-07-01T12:00:00Z", "2026-07-01 14:00:00+02:00", "1782907200", "1782907200.000000000")]
        self.assertEqual(same, [same[0]] * 4)
        for now in ("yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-07-01", "-5", "1e9", "99999999999"):
            self.assertIn("--now", self.refused(*self.ORDER[:-1], now))

    def test_path_in_its_normal_form(self):
        self.assertRegex(self.ok("explain", GOOD, "GET", "//x/../search;a=1?b", "--ip", "192.0.2.1"), r"path +/search\n")

    def test_attributes(self):
        rules = '{"version": 1, "rules": [{"name": "pro", "when": {"plan": "pro"}, "scope": "attribute:tenant", "limit": 1, "window": "1s"}]}'
        arguments = ("explain", "-", "GET", "/")
        self.assertIn("tenant=t1", self.ok(*arguments, "--attr", "plan=pro", "--attr", "tenant=t1", stdin=rules))
        self.assertNotIn("tenant=t1", self.ok(*arguments, "--attr", "plan=free", "--attr", "tenant=t1", stdin=rules))
        for attribute in ("plan", "=pro"):
            self.assertIn("--attr", self.refused(*arguments, "--attr", attribute, stdin=rules))

    def test_rule_by_name(self):
        self.assertIn("create-order", self.ok("explain", GOOD, "--rule", "create-order", "--key", "k"))
        self.assertIn("nope", self.refused("explain", GOOD, "--rule", "nope"))
        self.refused("explain", GOOD, "GET", "/", "--key", "k")
        self.refused("explain", GOOD)

    def test_faults_are_said(self):
        code, out, err = run("explain", BAD, "GET", "/")
        self.assertEqual((code, out, len(err.splitlines())), (1, "", 5))


class Rules(Case):
    def test_table(self):
        self.assertEqual(self.ok("rules", GOOD).splitlines(), [
            "RULE             METHOD  PATH          SCOPE   ALGORITHM        LIMIT         BURST  ACTION",
            "create-order     POST    /orders       user    token_bucket     5 per 1m      5      limit",
            "search           *       /search                                                     all or nothing",
            "  per-user                             user    sliding_counter  100 per 1m           limit",
            "  everyone                             global  token_bucket     1,000 per 1s  1,000  shadow",
            "internal         *       /internal                                                   block",
            "everything-else  *       (all others)  ip      sliding_log      10 per 1m            limit",
        ])

    def test_json(self):
        rules = self.json("rules", GOOD)["rules"]
        self.assertEqual([rule["name"] for rule in rules], ["create-order", "search", "internal", "everything-else"])
        self.assertEqual(rules[0]["limits"], [{"name": "create-order", "scope": "user", "algorithm": "token_bucket",
                                               "limit": 5, "window": "1m", "burst": 5, "shadow": False, "overrides": {}}])
        self.assertEqual((rules[2]["action"], rules[2]["limits"]), ("block", []))
        self.assertTrue(rules[3]["default"])

    def test_conditions_and_overrides(self):
        rules = ("version: 1\nrules:\n  - {name: a, path: /a, path_match: exact, when: {plan: pro}, scope: user, limit: 1, window: 1s,"
                 " overrides: {bob: {limit: 2, window: 1s}}}\n")
        out = self.ok("rules", "-", stdin=rules)
        for part in ("WHEN", "plan=pro", "=/a", "1 overridden"):
            self.assertIn(part, out)

    def test_faults(self):
        code, out, err = run("rules", BAD)
        self.assertEqual((code, out, len(err.splitlines())), (1, "", 5))
        self.refused("rules", "/nowhere.yaml")


class Replay(Case):
    def test_text(self):
        lines = self.ok("replay", GOOD, LOG).splitlines()
        self.assertEqual(lines[0], "150 requests from 2015-05-17 10:05:00 to 2015-05-17 11:05:59 UTC, 0 lines skipped")
        self.assertIn("everything-else       150      125      25  16.7 %", lines)
        self.assertIn("198.18.239.169  everything-else      13", lines)

    def test_counts_add_up(self):
        report = self.json("replay", GOOD, LOG)
        self.assertEqual((report["requests"], report["allowed"], report["denied"]), (150, 125, 25))
        self.assertEqual(sum(rule["denied"] for rule in report["rules"]), 25)
        self.assertEqual(sum(client["denied"] for client in report["most_denied"]), 25)

    def test_top(self):
        self.assertEqual(len(self.json("replay", GOOD, LOG, "--top", "1")["most_denied"]), 1)
        self.assertNotIn("MOST", self.ok("replay", GOOD, LOG, "--top", "0"))

    def test_lines_of_many_kinds(self):
        log = "\n".join([
            '192.0.2.1 - alice [17/May/2015:12:05:00 +0200] "POST /orders HTTP/1.1" 200 1',
            '192.0.2.2 - alice [17/May/2015:10:05:01 +0000] "POST /orders HTTP/1.1" 200 1 "-" "agent"',
            '2001:db8::1 - - [17/May/2015:10:05:00 +0000] "GET /x" 200 -',
            "", "not a line", '192.0.2.1 - - [99/May/2015:10:05:00 +0000] "GET / HTTP/1.1" 200 1',
            '192.0.2.1 - - [17/May/2015:10:05:00 +0000] "-" 400 0',
            '192.0.2.1 - - [17/May/2015:10:05:00 +0000] "\\x16\\x03" 400 0',
        ])
        report = self.json("replay", GOOD, "-", stdin=log)
        self.assertEqual((report["requests"], report["skipped_lines"]), (3, 4))
        self.assertEqual(report["rules"][0], {"rule": "create-order", "allowed": 2, "denied": 0, "never_fits": 0, "shadow_denied": 0})

    def test_lines_out_of_order(self):
        line = '192.0.2.1 - u [17/May/2015:10:{:02}:00 +0000] "POST /orders HTTP/1.1" 200 1\n'
        forward = "".join(line.format(minute) for minute in range(30) for _ in range(3))
        backward = "".join(line.format(minute) for minute in reversed(range(30)) for _ in range(3))
        self.assertEqual(self.json("replay", GOOD, "-", stdin=forward), self.json("replay", GOOD, "-", stdin=backward))

    def test_empty_log(self):
        self.assertTrue(self.ok("replay", GOOD, "-", stdin="").startswith("0 requests, 0 lines skipped\n"))

    def test_log_of_another_format(self):
        status, out, err = run("replay", GOOD, "-", stdin="{}\n{}\n")
        self.assertEqual((status, err), (0, "ratel: no line of the log is in common or combined format\n"))
        self.assertTrue(out.startswith("0 requests, 2 lines skipped\n"))

    def test_log_that_is_not_there(self):
        self.assertIn("/nowhere.log: cannot read it: No such file", self.refused("replay", GOOD, "/nowhere.log"))

    def test_log_that_is_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn(folder + ": is a folder", self.refused("replay", GOOD, folder))
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            self.assertIn(fifo + ": is not a regular file", self.refused("replay", GOOD, fifo))


class Diff(Case):
    def test_text(self):
        lines = self.ok("diff", GOOD, NEW).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("create-order", lines[0])
        self.assertIn("5 per 1m -> 10 per 1m", lines[0])
        self.assertIn("start new", lines[1])
        self.assertIn("internal", lines[2])

    def test_json(self):
        self.assertEqual([change["rule"] for change in self.json("diff", GOOD, NEW)], ["create-order", "everything-else", "internal"])
        self.assertEqual(self.json("diff", GOOD, GOOD), [])

    def test_exit_code(self):
        self.assertEqual(self.ok("diff", GOOD, GOOD, "--exit-code"), "no change\n")
        self.assertEqual(run("diff", GOOD, NEW, "--exit-code")[0], 1)

    def test_faults(self):
        self.assertEqual(run("diff", GOOD, BAD)[0], 1)


class Push(Case):
    def test_faults_put_nothing_there(self):
        code, out, err = run("push", "redis://127.0.0.1:1", "rules", BAD)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("bad.yaml:", err)

    def test_no_server(self):
        for url, word in (("redis://127.0.0.1:1", "refused"), ("nonsense", "redis url")):
            code, _, err = run("push", url, "rules", GOOD)
            self.assertEqual(code, 2)
            self.assertIn(word, err)

    @unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
    def test_the_text_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            socket_path = f"{folder}/s"
            server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket_path, "--save", "", "--dir", folder],
                                      stdout=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 60
                while not os.path.exists(socket_path) and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertEqual(self.ok("push", f"unix://{socket_path}?db=2", "rules", GOOD),
                                 f"unix://{socket_path}?db=2#rules: {len(self.json('rules', GOOD)['rules'])} rules\n")
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(socket_path)
                    connection.sendall(b"SELECT 2\r\nSTRLEN rules\r\n")
                    answer = b""
                    while answer.count(b"\r\n") < 2:
                        answer += connection.recv(100)
                self.assertEqual(answer, b"+OK\r\n:%d\r\n" % os.path.getsize(os.path.join(DATA, GOOD)))
            finally:
                server.kill()
                server.wait()


class Help(Case):
    COMMANDS = ("check", "explain", "rules", "replay", "diff", "push", "version", "completion")

    def test_help(self):
        out = self.ok("--help")
        for command in self.COMMANDS:
            self.assertRegex(out, rf"\n  {command} +\S")
            self.assertIn("Usage: ratel " + command, self.ok(command, "--help"))

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^ratel \d+\.\d+\.\d+\n$")
        version = self.json("version")
        self.assertRegex(version["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(version["abi"].split(".")[0], "1")
        self.assertIn("memory", version["features"])
        self.assertIn(version["version"], self.ok("version"))

    def test_wrong_use(self):
        for arguments in ((), ("nonsense",), ("check",), ("check", GOOD, "--nonsense"), ("explain",), ("replay", GOOD),
                          ("diff", GOOD), ("completion",), ("completion", "fish"), ("--nonsense",), ("rules", GOOD, "more")):
            self.refused(*arguments)


class Output(Case):
    def on_terminal(self, *arguments, env=None):
        """What the command writes to a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([RATEL, *arguments], stdout=slave, stderr=slave, cwd=DATA,
                                   env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **(env or {})})
        os.close(slave)
        written = b""
        try:
            while chunk := os.read(master, 65536):
                written += chunk
        except OSError:
            pass  # how Linux says that the other side has closed
        process.wait(60)
        os.close(master)
        return written.decode()

    def test_colours_on_a_terminal_alone(self):
        for arguments in (("check", BAD), ("rules", GOOD), ("replay", GOOD, LOG), ("explain", BAD, "GET", "/")):
            self.assertIn("\033[", self.on_terminal(*arguments), arguments)
            self.assertNotIn("\033[", self.on_terminal(*arguments, env={"NO_COLOR": "1"}), arguments)
            self.assertNotIn("\033[", self.on_terminal(*arguments, env={"TERM": "dumb"}), arguments)
            self.assertNotIn("\033[", "".join(run(*arguments)[1:]), arguments)

    def test_control_characters_do_not_reach_the_terminal(self):
        evil = "a\033]0;owned\007\u009b1m"
        log = f'192.0.2.1 - {evil} [17/May/2015:10:05:00 +0000] "POST /orders HTTP/1.1" 200 1\n' * 9
        rules = '{"version": 1, "rules": [{"name": "a", "%s": 1}]}' % "\u007f"
        shown = [self.ok("replay", GOOD, "-", stdin=log), self.ok("explain", GOOD, evil, "/" + evil, "--user", evil),
                 *run("check", "-", stdin=rules)[1:], self.refused("check", evil), self.refused("replay", GOOD, evil),
                 self.refused(evil), self.refused("explain", GOOD, "GET", "/", "--attr", evil)]
        for text in shown:
            self.assertNotRegex(text, "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]")
        self.assertIn(r"a\x1B]0;owned\x07\xC2\x9B1m", shown[0])

    def test_reader_that_goes_away(self):
        rules = "version: 1\nrules:\n" + "".join(
            f"  - {{name: r{i}, path: /r{i}, scope: user, limit: 1, window: 1s}}\n" for i in range(20000))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(rules)
            file.flush()
            process = subprocess.Popen([RATEL, "rules", file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertTrue(process.stdout.readline().startswith(b"RULE"))
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            self.assertNotEqual(process.wait(60), 0)

    def test_disk_that_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([RATEL, "rules", GOOD], stdout=full, stderr=subprocess.PIPE, text=True, cwd=DATA, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("could not be written", done.stderr)


class Completion(Case):
    def in_shell(self, shell, script):
        environment = {**os.environ, "PATH": os.path.dirname(RATEL) + os.pathsep + os.environ["PATH"]}
        done = subprocess.run([*shell, script], capture_output=True, text=True, cwd=DATA, env=environment, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split("\n")[:-1]

    def bash(self, *words):
        quoted = " ".join(f"'{word}'" for word in words)
        return self.in_shell(["bash", "--norc", "-c"], f"source <(ratel completion bash); COMP_WORDS=(ratel {quoted}); "
                             f"COMP_CWORD={len(words)}; _ratel; printf '%s\\n' \"${{COMPREPLY[@]}}\"; complete -p ratel >/dev/null")

    def test_bash(self):
        self.assertEqual(sorted(self.bash("")), sorted([*Help.COMMANDS, "--help", "--version"]))
        self.assertEqual(self.bash("re"), ["replay"])
        self.assertEqual(self.bash("explain", "--a"), ["--api-key", "--attr", "--after"])
        self.assertEqual(self.bash("completion", "z"), ["zsh"])
        self.assertEqual(self.bash("check", "rul"), ["rules.yaml"])

    def test_every_option_is_known(self):
        for command in Help.COMMANDS:
            known = set(self.bash(command, "--"))
            told = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", self.ok(command, "--help"), re.M))
            self.assertEqual(known, told, command)

    @unittest.skipUnless(shutil.which("zsh") or os.environ.get("CI") == "true", "zsh is not installed")
    def test_zsh(self):
        script = "autoload -Uz compinit; compinit -u -D; source <(ratel completion zsh); print -r -- ${_comps[ratel]}; whence -w _ratel"
        self.assertEqual(self.in_shell(["zsh", "-f", "-c"], script), ["_ratel", "_ratel: function"])

    @unittest.skipUnless(shutil.which("zsh") or os.environ.get("CI") == "true", "zsh is not installed")
    def test_zsh_completes(self):
        script = r"""
          zmodload zsh/zpty
          zpty shell zsh -f -i
          zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; source <(ratel completion zsh); echo rea''dy'
          zpty -r shell seen '*ready*'
          zpty -w -n shell $'ratel repl\t--help\n'
          zpty -r shell seen '*Usage: ratel replay*'
          zpty -d shell
          print completed"""
        self.assertEqual(self.in_shell(["zsh", "-f", "-c"], script), ["completed"])


unittest.main(argv=sys.argv[:1], verbosity=2)
