"""The command line: every command is described, wrong ones are answered in one line, nothing printed is markup."""

from __future__ import annotations

import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cyclopts
import pytest
from tests.patience import PATIENCE

from weft.app import Summary, _warn_of_many, _workers
from weft.cli import _COMMANDS, app, commands, main
from weft.cli.display import print_summary
from weft.cli.mistakes import mistake
from weft.cli.terminal import Terminal
from weft.clock import SystemClock
from weft.config import Settings
from weft.directory import Plan
from weft.engine.messages import Messages
from weft.engine.progress import Counts
from weft.errors import UsageError

Run = Callable[..., tuple[int, str, str]]
CORES = len(os.sched_getaffinity(0))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process: its exit code, and what it printed."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


# --- help ---


@pytest.mark.parametrize("row", _COMMANDS, ids=lambda row: " ".join(row[:2]).strip())
def test_help__says_of_each_command_what_its_docstring_begins_with(row: tuple[str, str, str, str]) -> None:
    """The list of commands has the first sentence, and the command's own help the whole text."""
    group, name, _place, short = row
    command = (app[group] if group else app)[name]
    text = inspect.getdoc(command.default_command) or ""
    sentence = re.split(r"(?<=\.)\s", " ".join(text.partition("\n\n")[0].split()))[0]
    assert short == sentence


def test_help__describes_every_command_and_imports_none() -> None:
    """`weft --help` and those of the groups have a text beside each name; nothing heavy is imported for it."""
    program = (
        "import sys; from weft.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyarrow', 'numpy', 'numba', 'pycurl', 'weft.config'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    for group in ("", "graph", "seeds", "temporal", "testbed", "url", "robots"):
        arguments = [*([group] if group else []), "--help"]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        for at, name, _place, short in _COMMANDS:
            if at == group:
                assert re.search(rf"\b{name}\s+{re.escape(short[:20])}", done.stdout), name


def test_help__of_a_command_is_whole(run: Run) -> None:
    """With what is behind the first sentence, the bounds, the units and the defaults."""
    code, out, _ = run("crawl", "--help")
    assert code == 0
    text = " ".join(out.replace("│", " ").split())
    assert "The seeds say where to begin" in text
    assert "SEED URL to begin with" in text
    assert (
        "--connections INT Connections at once, to as many sites. [at least 1, at most 100,000; default: 500]" in text
    )
    assert re.search(r"--max-bytes BYTES .*?\[at least 1\]", text)
    assert re.search(r"--requisites --no-requisites [^\[]*\[default: no\]", text)
    assert re.search(r"--sync --no-sync [^\[]*\[default: yes\]", text)
    assert not re.search(r"\(P[0-9]|see below", text)


def test_version__has_a_short_flag(run: Run) -> None:
    """-V is --version."""
    assert run("-V") == run("--version")
    assert run("-V")[0] == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion__knows_commands_and_options(run: Run, shell: str) -> None:
    """The script names commands, groups, and options of both."""
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    for word in ("crawl", "temporal", "analyse", "per-visit", "tiny-hosts"):
        assert word in out


def test_completion__works_in_bash(run: Run, tmp_path: Path) -> None:
    """The shell takes the script, and completes a command, a command of a group and an option by it."""
    script = tmp_path / "weft.bash"
    script.write_text(run("completion", "bash")[1], encoding="utf-8")
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    for words, expected in (
        (["weft", "cra"], "crawl"),
        (["weft", "graph", "im"], "import"),
        (["weft", "crawl", "--per-v"], "--per-visit"),
        (["weft", "crawl", "--requisites", "--per-v"], "--per-visit"),
    ):
        asked = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", asked, script, *words], capture_output=True, text=True, check=False)
        assert done.stdout.split() == [expected], done.stderr


# --- wrong commands ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crwl"], ["crwl", "did you mean crawl?"]),
        (["graph", "imprt"], ["weft graph imprt", "did you mean import?"]),
        (["nothingofthekind"], ["see weft --help"]),
        (["crawl", "--wiat", "3", "--out", "x"], ["--wiat", "did you mean --wait?"]),
        (["crawl", "--wiat=3", "--out", "x"], ["--wiat", "did you mean --wait?"]),
        (["crawl", "http://127.0.0.1/"], ["weft crawl needs --out"]),
        (["crawl", "--out"], ["--out needs a value"]),
        (["crawl", "--out", "x", "--scope", "sight"], ["--scope cannot be 'sight'", "did you mean site?"]),
        (["crawl", "--out", "x", "--scope", "b"], ["--scope", "site, domain, tld, prefix, list, all"]),
        (["crawl", "--out", "x", "--connections", "many"], ["--connections cannot be 'many'", "a whole number"]),
        (["crawl", "--out", "x", "--out", "y"], ["--out is given twice"]),
        (["status"], ["weft status needs CRAWL"]),
        (["status", "a", "[b]"], ["no further argument", "'[b]'"]),
        (["log", "a", "--last", "x"], ["--last cannot be 'x'"]),
        (["completion", "tcsh"], ["SHELL cannot be 'tcsh'", "bash, zsh, fish"]),
        (["stop", "x", "--wait", "nan"], ["--wait cannot be nan", "at least 0"]),
        (["graph", "rank", "x", "--epsilon", "2"], ["--epsilon cannot be 2.0", "above 0, at most 1"]),
        (["testbed", "list", "--seed", "-1"], ["--seed cannot be -1", "at least 0"]),
        (["testbed", "list", "--sites", "0"], ["--sites cannot be 0", "at least 1"]),
        (["testbed", "list", "--www", "1.5"], ["--www cannot be 1.5", "at most 1"]),
        (["temporal", "generate", "--out", "x", "--days", "0"], ["--days cannot be 0", "at least 1"]),
    ],
    ids=" ".join,
)
def test_mistake__is_told_in_one_line(run: Run, arguments: list[str], words: list[str]) -> None:
    """With what to do next, and exit code 2; no box, no traceback."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("weft: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_mistake__of_any_kind_has_a_message() -> None:
    """What the parser may say some day has one, too."""
    assert "nobody knows" in str(mistake(cyclopts.CycloptsError(msg="nobody knows")))


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *(("--wait", "-5"), ("--wait", "nan"), ("--wait", "inf"), ("--wait", "5 parsecs"), ("--connections", "0")),
        *(("--timeout", "-1"), ("--per-visit", "0"), ("--max-pages", "-3"), ("--volume-bytes", "0")),
        *(("--workers", "-1"), ("--workers", "1000000"), ("--retry-pauses", "-1"), ("--contact", "notacontact")),
        *(("--exclude", "a\udc80b"), ("--prefix", "a/b"), ("--prefix", "../.."), ("--agent", "a\r\nb")),
        *(("--speed", "1 GB"), ("--wait-least", "1 h"), ("--max-site-pages", "2147483648")),
    ],
)
def test_flag__that_is_not_allowed_is_refused_by_name(run: Run, tmp_path: Path, flag: str, value: str) -> None:
    """And nothing is written."""
    code, out, err = run("crawl", "http://127.0.0.1:8899/", "--out", str(tmp_path / "out"), flag, value)
    assert (code, out) == (2, "")
    assert flag in err or flag.strip("-").replace("-", "_") in err
    assert not (tmp_path / "out").exists()


def test_workers__are_held_against_the_cores(tmp_path: Path) -> None:
    """Some more than cores are taken, many are warned of, very many refused."""
    shown: list[str] = []
    messages = Messages(tmp_path / "messages.log", SystemClock(), shown.append)

    def workers(wanted: int) -> int:
        settings = Settings().with_values({"workers": wanted}, where="here")
        taken = _workers(Plan(seeds=[], out=tmp_path, settings=settings, watched=True))
        _warn_of_many(taken, messages)
        return taken

    assert workers(0) == 0, "as many as there is work for"
    assert workers(4 * CORES) == 4 * CORES
    assert shown == []
    assert workers(16 * CORES) == 16 * CORES
    assert f"{16 * CORES} workers on {CORES} cores" in shown[0]
    assert shown[0] in (tmp_path / "messages.log").read_text("utf-8"), "it is kept, too"
    with pytest.raises(UsageError, match=f"at most {16 * CORES}"):
        workers(16 * CORES + 1)


def test_file__that_cannot_be_used_is_named_once(run: Run, tmp_path: Path) -> None:
    """Settings and seeds that are missing, empty or binary."""
    out = str(tmp_path / "out")
    code, _, err = run("crawl", "http://127.0.0.1/", "--out", out, "--config", str(tmp_path / "nope.toml"))
    assert (code, err.count("nope.toml")) == (2, 1)
    seeds = tmp_path / "seeds"
    for content, words in (
        (b"", "there is no seed"),
        (b"\n  \n", "there is no seed"),
        (b"\x7fELF\x02\x00\x1b[2J", "no text file"),
        (b"\x1b[2J://" + 5000 * b"x" + b"\n", r"'\x1b[2J://xxx"),
    ):
        seeds.write_bytes(content)
        code, _, err = run("crawl", "--out", out, "--seeds", str(seeds))
        assert code == 2
        assert words in err
        assert "\x1b" not in err
        assert len(err) < 500
    assert not (tmp_path / "out").exists()


# --- url normalize ---


def test_normalize__takes_urls_as_arguments(run: Run) -> None:
    """As many lines as URLs; standard input is left alone."""
    assert run("url", "normalize", "HTTP://A.example:80", "b") == (0, "http://a.example/\n\n", "line 2: no-scheme: b\n")


def test_normalize__takes_a_base_without_a_path(run: Run) -> None:
    """The base is brought into normal form itself."""
    assert run("url", "normalize", "b", "--base", "http://www.example.org")[1] == "http://www.example.org/b\n"


# --- printing ---


def test_output__nobody_reads_ends_quietly() -> None:
    """`weft … | head -1` is no failure: exit code 0, nothing on standard error, whoever prints."""
    program = (
        "import sys, weft.cli\n"
        "from weft.cli.terminal import Terminal\n"
        "def rich(): [Terminal().print('x' * 70) for _ in range(5000)]\n"
        "def plain(): [print('x' * 70) for _ in range(5000)]\n"
        "def little(): print('x')\n"
        "weft.cli.app.command(globals()[sys.argv[1]], name='long')\n"
        "sys.stdin.readline()\n"
        "weft.cli.main(['long'])\n"
    )
    for kind in ("rich", "plain", "little"):
        with subprocess.Popen(
            [sys.executable, "-c", program, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            process.stdin.write("\n")
            process.stdin.close()
            assert process.stderr.read() == ""
            assert process.wait(PATIENCE) == 0, kind


def test_summary__shows_what_comes_from_outside_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets in seeds, paths and reasons are no markup: nothing vanishes and nothing raises."""
    print_summary(
        Summary(
            out=Path("out[/x]"),
            why="[/bold]",
            counts=Counts(),
            fetched=1,
            restarts=[],
            restarted=0,
            reasons={"[red]": 1},
            refused={"[/]": 2},
            statuses={},
            pending=1,
            known=1,
            sites=1,
            pages_per_second=0.0,
            seeds_refused={"http://x:22/[/bold]a[red]": "port"},
        )
    )
    out = capsys.readouterr().out
    for text in ("http://x:22/[/bold]a[red]: port", "out[/x]/volumes/", "[red] 1", "[/] 2"):
        assert text in out


def test_terminal__reads_no_markup_anywhere() -> None:
    """Not in lines, and not in the cells of tables."""
    from rich.table import Table

    file = io.StringIO()
    terminal = Terminal(file=file, width=80)
    table = Table("[bold]head[/bold]", title="[red]")
    table.add_row("pip install 'weft[plots]' :smile: [/x]")
    terminal.print("[/bold] [red]seed[/red]", table)
    for text in ("[/bold] [red]seed[/red]", "pip install 'weft[plots]' :smile: [/x]", "[bold]head[/bold]"):
        assert text in file.getvalue()


def test_commands__print_by_our_terminal_alone() -> None:
    """Any other would read markup, and end with 1 when its reader goes away."""
    folder = Path(inspect.getfile(main)).parent
    for file in folder.glob("*.py"):
        if file.name != "terminal.py":
            assert "rich.console" not in file.read_text(encoding="utf-8"), file.name


def test_commands__are_all_there() -> None:
    """Each can be imported."""
    assert all(command.default_command is not None for command in commands())
