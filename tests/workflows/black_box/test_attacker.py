"""Attack a generator from Python and on the command line: any generator, a foreign command, interrupted."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from supplies.daemons import DAEMON, waited_for
from typer.testing import CliRunner

import tabveil
from tabveil.cli import app
from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.render.black_box import OTHER_DATA, TITLE
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.privacy import SEED_IS_TOLD
from tabveil.workflows.black_box import attacker

SMALL = {"targets": 4, "fits": 40}
PROGRAM = "from tabveil.cli import main\nif __name__ == '__main__':\n    main()\n"
COPY = (
    "import random, sys\n"
    "rows = open(sys.argv[1]).read().splitlines()\n"
    "random.seed(int(sys.argv[3]))\n"
    "drawn = random.choices(rows[1:], k=int(sys.argv[4]))\n"
    "open(sys.argv[2], 'w').write('\\n'.join([rows[0], *drawn]) + '\\n')\n"
)
READ = "import csv, os, sys, time\nrows = list(csv.reader(open(sys.argv[1])))\nout = sys.argv[2]\n"
WRITE = "csv.writer(open(out, 'w', newline='')).writerows(rows)\n"
SECRET = "Nobody-must-see-this"


def few_columns(n, seed):
    """People of whom little is known: every fit of a command reads all of it again."""
    return hospital(n, seed=seed)[["age", "sex", "region", "cost"]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    few_columns(120, seed=1).to_csv("train.csv", index=False)
    few_columns(80, seed=2).to_csv("control.csv", index=False)
    Path("copy_rows.py").write_text(COPY, encoding="utf-8")
    return tmp_path


def run(*args):
    return CliRunner().invoke(app, ["attack", *map(str, args)])


def small(*args):
    return run("--data", "train.csv", "--targets", 4, "--fits", 40, *args)


def refused(*args):
    result = small(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert SECRET not in line
    return line


def by_command(text, *args):
    """Attack a script by command and return the one line that it is refused with."""
    Path("make.py").write_text(text, encoding="utf-8")
    return refused("--command", f"{sys.executable} -S -E make.py {{train}} {{out}}", *args)


# ---- in Python


def test_a_copy_is_told_and_its_json_comes_back():
    found = tabveil.attack(hospital(200, seed=1), generator="copy", draw=2000, **SMALL)
    membership = found["shadow_membership"]
    assert [group.group for group in membership.groups] == ["vulnerable", "random"]
    assert membership.groups[0].found.value > 0.95
    assert tabveil.ShadowResult.from_json(json.loads(found.json_text())) == found
    with pytest.raises(KeyError):
        found["shadow_inference"]


def test_a_secret_is_guessed_beside_membership():
    found = tabveil.attack(hospital(200, seed=1), generator="copy", draw=2000, secret="sex", **SMALL)
    inference = found["shadow_inference"]
    assert (inference.secret, inference.n_values, inference.chance) == ("sex", 3, 1 / 3)
    assert inference.groups[0].found.value > 0.9


def test_the_same_seed_gives_the_same_numbers_and_another_others():
    people = hospital(100, seed=1)
    one, same, other = (
        tabveil.attack(people, generator="marginals", seed=seed, **SMALL) for seed in (1, 1, 2)
    )
    assert one == same
    assert one.attacks != other.attacks


def test_control_rows_stand_in_so_that_all_of_the_data_are_learned_from():
    people, others = hospital(100, seed=1), hospital(50, seed=2)
    held_back = tabveil.attack(people, generator="marginals", **SMALL)
    beside = tabveil.attack(people, generator="marginals", control=others, **SMALL)
    assert (held_back.n_rows, beside.n_rows) == (80, 100)
    assert any("of the 100 rows" in note for note in held_back.notes)
    assert beside.notes == ()


def test_the_redrawn_game_is_another():
    people = hospital(100, seed=1)
    found = tabveil.attack(people, generator="marginals", game="redrawn", rows=40, draw=60, **SMALL)
    assert (found.game, found.n_rows, found.n_drawn) == ("redrawn", 40, 60)


def test_rare_labels_are_pooled_as_in_synthesize_unless_they_are_kept():
    people = pd.DataFrame({"x": ["a", "b"] * 150, "y": ["c", "d", "e"] * 100})
    people.loc[0, "x"] = "only one has this"
    pooled, kept = (
        tabveil.attack(people, generator="marginals", rare_labels=how, targets=2, fits=100, seed=3)
        for how in ("pool", "keep")
    )
    assert (pooled.settings["rare_labels"], kept.settings["rare_labels"]) == ("pool", "keep")
    first = [result["shadow_membership"].targets[0] for result in (pooled, kept)]
    assert first[0].rank == first[1].rank == 1
    assert first[0].found.low < 0.5  # what only the target has does not reach the generator
    assert first[1].found.low > 0.6


def test_identifiers_are_not_shown_to_a_generator():
    people = hospital(100, seed=1).assign(patient=[f"P{i:05}" for i in range(100)])
    found = tabveil.attack(people, generator="copy", **SMALL)
    assert any("patient" in note for note in found.notes)


def test_a_pipeline_is_attacked_and_told_how_columns_are_written():
    settings = {
        "hierarchies": {"admitted": {"dates": ["month", "year"]}},
        "models": [{"k": 2}],
        "generator": "none",
    }
    people = hospital(100, seed=1).assign(patient=[f"P{i:05}" for i in range(100)])
    found = tabveil.attack(people, generator="hybrid", settings=settings, **SMALL)
    assert found.generator == "hybrid"
    assert found.settings["models"] == [{"k": 2}]


def test_an_object_of_ones_own_is_attacked_as_well():
    found = tabveil.attack(hospital(100, seed=1), generator=GENERATORS["marginals"](), **SMALL)
    assert found.generator == "marginals"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"targets": 100}, "targets must be fewer than the 100 rows"),
        ({"targets": 0}, "targets must be >= 1"),
        ({"fits": 39}, "fits must be >= 40"),
        ({"fits": 40.5}, "fits must be a whole number, got float"),
        ({"game": "open"}, "game must be one of 'fixed', 'redrawn'"),
        ({"rare_labels": "hide"}, "rare_labels must be one of"),
        ({"generator": "magic"}, "no generator 'magic'"),
        ({"generator": "copy", "command": "x {train} {out}"}, "one of generator, config and command"),
        ({"command": "cp {train} {out}", "settings": {"a": 1}}, "settings belong to a generator"),
        ({"secret": "nothing"}, "no column 'nothing'"),
        ({"secret": "cost"}, "2 to 20 values"),
        ({"draw": 0}, "draw must be >= 1"),
        ({"workers": 0}, "workers must be >= 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, message):
    usual = SMALL if "command" in asked else {"generator": "marginals", **SMALL}
    with pytest.raises(ParameterError, match=message):
        tabveil.attack(hospital(100, seed=1), **{**usual, **asked})


def test_a_generator_that_breaks_is_told_in_a_line_without_its_words(monkeypatch):
    def broken(*_, **__):
        raise ValueError(SECRET)

    monkeypatch.setattr(attacker.GeneratorReleases, "__call__", broken)
    with pytest.raises(ParameterError, match="fit 1 failed: ValueError inside the code") as told:
        tabveil.attack(hospital(100, seed=1), generator="copy", **SMALL)
    assert SECRET not in str(told.value)


# ---- on the command line


def test_a_generator_is_attacked_and_shown_at_eighty_columns(folder):
    result = small("--generator", "copy", "--set", "noise=0.01", "--draw", 600, "--json", "found.json")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert TITLE in result.stdout
    assert "vulnerability rank" in result.stdout
    found = tabveil.ShadowResult.read("found.json")
    assert (found.generator, found.settings["noise"], found.n_drawn) == ("copy", 0.01, 600)
    again = small("--generator", "copy", "--json", "found.json")
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_json_goes_to_standard_output_and_the_table_where_people_look(folder):
    result = small("--generator", "marginals", "--json", "-")
    assert json.loads(result.stdout)["kind"] == "shadow"
    assert TITLE in result.stderr
    assert small("--generator", "marginals", "--quiet").output == ""


def test_nobodys_values_are_in_what_is_shown_and_written(folder):
    people = pd.read_csv("train.csv").assign(street="Main Street")
    people.loc[3, "street"] = SECRET
    people.loc[4, "cost"] = 987654.25
    people.to_csv("train.csv", index=False)
    result = small("--generator", "copy", "--json", "found.json", "--store", "fits")
    assert result.exit_code == 0, result.output
    shown = result.output + Path("found.json").read_text(encoding="utf-8")
    assert SECRET not in shown
    assert "987654" not in shown


def test_a_file_names_generator_and_settings(folder):
    Path("g.yaml").write_text("generator: copy\nsettings: {noise: 0.2}\n", encoding="utf-8")
    assert small("--config", "g.yaml", "--json", "found.json").exit_code == 0
    assert tabveil.ShadowResult.read("found.json").settings["noise"] == 0.2
    Path("g.yaml").write_text("generator: marginals\nrows: 33\nrare_labels: keep\n", encoding="utf-8")
    assert small("--config", "g.yaml", "--json", "found.json", "--force").exit_code == 0
    found = tabveil.ShadowResult.read("found.json")
    assert (found.n_drawn, found.settings["rare_labels"]) == (33, "keep")
    for text, message in {
        "noise: 1": "unknown key",
        "settings: {noise: 1}": "settings belong to a generator; name it",
        "generator: magic": "no generator 'magic'",
        "generator: copy\nsettings: {nose: 1}": "no setting 'nose'",
    }.items():
        Path("g.yaml").write_text(text, encoding="utf-8")
        assert message in refused("--config", "g.yaml")


# ---- a command of one's own


def test_a_command_is_attacked_like_a_generator(folder):
    words = f"{sys.executable} -S -E copy_rows.py {{train}} {{out}} {{seed}} {{rows}}"
    asked = ("--command", words, "--control", "control.csv", "--draw", 1000, "--json", "-", "--quiet")
    found, again = (json.loads(small(*asked).stdout) for _ in range(2))
    assert found == again  # by the seed that it is given
    assert found["attacks"][0]["groups"][0]["found"]["value"] > 0.9
    assert found["generator"] == "command"
    assert str(folder) not in json.dumps(found)


def test_a_command_gets_what_the_fit_learns_and_nothing_of_an_earlier_one(folder):
    script = READ + (
        "assert not os.path.exists('left_behind')\n"
        "open('left_behind', 'w').write('x')\n"
        "assert len(rows) == 97, len(rows)\n"  # a header, and 120 rows but for a fifth
        "assert os.getcwd() == os.path.dirname(os.path.realpath(out))\n"
        "print('garbage ' * 10000)\n"
    )
    Path("make.py").write_text(script + WRITE, encoding="utf-8")
    assert small("--command", f"{sys.executable} -S -E make.py {{train}} {{out}}").exit_code == 0
    assert not Path("left_behind").exists()


HOSTILE = {
    "another column": ("rows[0][0] = 'other'\n" + WRITE, "cannot be used: .*'?other"),
    "a column too few": ("rows = [row[1:] for row in rows]\n" + WRITE, "cannot be used: "),
    "no rows": ("rows = rows[:1]\n" + WRITE, "cannot be used: The synthetic table has no rows"),
    "an empty file": ("open(out, 'w')\n", "cannot be used: "),
    "text for numbers": (
        "place = rows[0].index('age')\nfor row in rows[1:]: row[place] = 'x' + row[place]\n" + WRITE,
        "'age' of synthetic: .* should hold numbers",
    ),
    "bytes": ("open(out, 'wb').write(bytes(range(256)) * 9)\n", "cannot be used: "),
    "nothing written": ("", r"wrote no file \{out\}"),
    "a folder": ("os.mkdir(out)\n", r"wrote no file \{out\}"),
    "a link": ("os.symlink(sys.argv[1], out)\n", r"wrote no file \{out\}"),
    "an exit code": (f"print('{SECRET}', file=sys.stderr)\nsys.exit(7)\n", "ended with exit code 7"),
    "a traceback": (f"raise ValueError('{SECRET}')\n", "ended with exit code 1"),
    "a signal": ("os.kill(os.getpid(), 9)\n", "was ended by signal 9"),
    "ten gigabytes": ("open(out, 'wb').truncate(10**10)\ntime.sleep(60)\n", "wrote more than 20 MB"),
    "many files": (
        "for i in range(30): open(f'{i}', 'wb').truncate(10**6)\ntime.sleep(60)\n",
        "wrote more than 20 MB",
    ),
    "endless complaints": ("while True: os.write(2, b'x' * 10**6)\n", "wrote more than 20 MB"),
    "no end": ("time.sleep(600)\n", "took longer than 1.5 s"),
    "deaf to being ended": (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)\n",
        "took longer than 1.5 s",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_command_is_told_in_one_line(folder, what):
    script, message = HOSTILE[what]
    line = by_command(READ + script, "--time-limit", 1.5, "--size-limit", 20)
    assert re.search(rf"fit 1: command: .*{message}", line), line


def test_what_a_command_starts_ends_with_it(folder):
    script = READ + (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(folder / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    by_command(script, "--time-limit", 1.5)
    child = int(Path("child").read_text(encoding="utf-8"))
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    pytest.fail("the child still runs")


def test_what_a_command_says_is_kept_for_its_owner_alone(folder):
    line = by_command(f"import sys\nprint('{SECRET}', file=sys.stderr)\nsys.exit(1)\n", "--store", "fits")
    (kept,) = Path("fits/failures").glob("*.txt")
    assert str(kept) in line
    assert SECRET in kept.read_text(encoding="utf-8")
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "command is empty"),
        ("cp {train}", "must say where {out} belongs"),
        ("cp x {out}", "must say where {train} belongs"),
        ("no-such-program {train} {out}", "there is no program 'no-such-program'"),
        ("./cp {train} {out}", "no program that can be run at './cp'"),
        ("./copy_rows.py {train} {out}", "no program that can be run at './copy_rows.py'"),
        ("cp {train} {out} a\0b", "command must be UTF-8 text"),
        ("cp '{train} {out}", "without its end"),
        ("cp {train} {out} --time-limit", None),
    ],
)
def test_a_command_that_cannot_be_one_is_refused_first(folder, command, message):
    assert (message or "exit code") in refused("--command", command)


def test_the_program_is_never_one_that_lies_in_the_current_folder(folder, monkeypatch):
    """Neither by its name, nor by a part of the PATH that means it; with a slash it is the one."""
    for name in ("cp", "made"):
        Path(name).write_text(f"#!/bin/sh\ntouch {folder / 'planted'}\ncp $*", encoding="utf-8")
        Path(name).chmod(0o755)
    Path("there").mkdir()
    Path("there/made").symlink_to("../made")
    monkeypatch.setenv("PATH", f":.:there:{os.environ['PATH']}:")
    assert "no program 'made' on the PATH. The current folder is not searched; write ./made" in refused(
        "--command", "made {train} {out}"
    )
    assert "exit code" in refused("--command", "cp {train} {out} nowhere")
    assert not Path("planted").exists()
    assert "exit code" in refused("--command", "./cp {train} {out} nowhere")
    assert Path("planted").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are found on Linux")
def test_nothing_is_left_of_a_command_where_the_attack_is_killed(folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
    Path("temporary").mkdir()
    Path("make.py").write_text(f"{DAEMON}\ntime.sleep(60)", encoding="utf-8")
    words = (
        "--command",
        f"{sys.executable} -S -E make.py {{train}} {{out}} {folder / 'daemon'}",
        "--fits",
        "40",
    )
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, "attack", "--data", "train.csv", *words])
    daemon = waited_for(lambda: Path("daemon").exists() and Path("daemon").read_text(encoding="utf-8"))
    assert list(Path("temporary").iterdir())
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert waited_for(lambda: not Path("/proc", daemon).exists())
    assert waited_for(lambda: not list(Path("temporary").iterdir()))


def test_no_shell_reads_a_command(folder):
    refused(
        "--command", f"{sys.executable} -S -E copy_rows.py {{train}} {{out}} 1 10; touch {folder / 'shell'}"
    )
    refused("--command", f"{sys.executable} -S -E copy_rows.py {{train}} {{out}} $(touch {folder / 'shell'})")
    assert not (folder / "shell").exists()


def test_limits_must_leave_something(folder):
    for option in ("--time-limit", "--size-limit"):
        assert "must be above 0" in refused("--command", "cp {train} {out}", option, 0)


# ---- interrupted, and gone on with


def fits_in(folder):
    return sorted(path.name for path in (folder / "fits").glob("[!.]*.npz"))


def test_a_store_has_every_fit_and_none_is_made_again(folder, monkeypatch):
    asked = ("--generator", "copy", "--draw", 300, "--json", "-", "--quiet")
    found = small(*asked, "--store", "kept").stdout
    assert len(fits_in(folder / "kept")) == 40
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder / "kept" / "fits").iterdir())
    monkeypatch.setattr(attacker.GeneratorReleases, "__call__", None)
    assert small(*asked, "--store", "kept").stdout == found
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert small(*asked).stdout == found


def test_a_larger_pool_begins_with_the_fits_of_a_smaller_one_and_other_settings_have_their_own(folder):
    asked = ("--data", "train.csv", "--targets", 4, "--store", "kept", "--quiet", "--generator", "copy")
    run(*asked, "--fits", 40)
    first = fits_in(folder / "kept")
    run(*asked, "--fits", 50)
    assert set(first) < set(fits_in(folder / "kept"))
    assert len(fits_in(folder / "kept")) == 50
    run(*asked, "--fits", 40, "--set", "noise=0.5")
    assert len(fits_in(folder / "kept")) == 90


def test_a_changed_script_is_another_generator(folder):
    words = "sh make.sh {train} {out}"
    Path("make.sh").write_text('cp "$1" "$2"\n', encoding="utf-8")
    small("--command", words, "--store", "kept", "--quiet")
    Path("make.sh").write_text('cp "$1" "$2"  # changed\n', encoding="utf-8")
    small("--command", words, "--store", "kept", "--quiet")
    assert len(fits_in(folder / "kept")) == 80


def test_damaged_fits_are_made_again(folder):
    asked = ("--generator", "copy", "--json", "-", "--quiet", "--store", "kept")
    found = small(*asked).stdout
    for path, text in zip(
        sorted((folder / "kept" / "fits").iterdir()), (b"", b"PK\x03\x04", b"x"), strict=False
    ):
        path.write_bytes(text)
    other = folder / "kept" / "fits" / fits_in(folder / "kept")[3]
    np.savez_compressed(other, features=np.zeros((2, 2), dtype=np.float32))
    assert small(*asked).stdout == found


def test_an_attack_that_was_killed_goes_on_where_it_was_with_the_same_numbers(folder):
    words = [sys.executable, "-c", PROGRAM, "attack", "--data", "train.csv", "--targets", "4", "--fits", "40"]
    words += ["--generator", "trees", "--quiet", "--json", "killed.json", "--store", "kept"]
    process = subprocess.Popen(words, cwd=folder)
    while len(fits_in(folder / "kept")) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = fits_in(folder / "kept")
    assert 3 <= len(done) < 40
    before = {name: (folder / "kept" / "fits" / name).stat().st_mtime_ns for name in done}
    assert subprocess.run(words, cwd=folder, check=False).returncode == 0
    assert before == {name: (folder / "kept" / "fits" / name).stat().st_mtime_ns for name in done}
    whole = small("--generator", "trees", "--quiet", "--json", "-")
    assert json.loads(Path("killed.json").read_text(encoding="utf-8")) == json.loads(whole.stdout)


def test_ctrl_c_says_that_what_was_done_is_kept(folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(attacker.GeneratorReleases, "__call__", interrupt)
    with_store, without = small("--generator", "copy", "--store", "kept"), small("--generator", "copy")
    assert (with_store.exit_code, without.exit_code) == (130, 130)
    assert "run the same command to go on" in with_store.stderr
    assert "go on" not in without.stderr


def test_several_processes_give_the_same_numbers(folder):
    pytest.importorskip("distributed")
    asked = ("--generator", "copy", "--json", "-", "--quiet")
    assert small(*asked, "--workers", 2).stdout == small(*asked).stdout
    line = refused("--command", f"{sys.executable} -c 0 {{train}} {{out}}", "--workers", 2)
    assert "wrote no file {out}" in line


def test_progress_tells_how_many_fits_are_done():
    heard = []
    tabveil.attack(
        hospital(100, seed=1),
        generator="marginals",
        progress=lambda doing, share: heard.append((doing, share)),
        **SMALL,
    )
    assert ("20 of 40 fits", 0.5) in heard
    assert heard[-1] == ("done", 1.0)
    shares = [share for _, share in heard]
    assert shares == sorted(shares)


# ---- in an audit


@pytest.fixture(scope="module")
def attacked():
    return tabveil.attack(hospital(120, seed=1), generator="copy", draw=600, secret="sex", **SMALL)


def audited(shadow, **more):
    people, fresh, control = (hospital(120, seed=seed) for seed in (1, 2, 3))
    return tabveil.audit(people, fresh, control, metrics=["identical_match_share"], shadow=shadow, **more)


def test_an_audit_shows_what_was_found_and_calls_it_untested_without(attacked):
    with_it, without = tabveil.html_page(audited(attacked)), tabveil.html_page(audited(None))
    untested = [text.split('id="untested"')[1] for text in (with_it, without)]
    assert TITLE not in untested[0].split("Outside the reach")[1]
    assert f"<dt>{TITLE}</dt>" in untested[1]
    assert 'id="generator"' in with_it
    assert "Inference of sex" in with_it
    assert 'id="generator"' not in without
    assert OTHER_DATA not in html.unescape(with_it)


def test_a_result_about_other_rows_is_called_so():
    other = tabveil.attack(hospital(100, seed=9), generator="marginals", **SMALL)
    assert OTHER_DATA in html.unescape(tabveil.html_page(audited(other)))


def test_the_report_keeps_it_and_no_verdict_rests_on_it(attacked, tmp_path):
    report, without = audited(attacked), audited(None)
    again = tabveil.Report.from_json(report.to_json())
    assert again.shadow == attacked
    assert "shadow" not in json.loads(without.to_json())
    assert report.verdict == without.verdict
    attacked.write(tmp_path / "a.json")
    assert audited(tmp_path / "a.json").shadow == attacked
    assert audited(str(tmp_path / "a.json")).request["shadow"] == str(tmp_path / "a.json")


def test_a_command_line_audit_takes_the_file(folder, attacked):
    attacked.write("found.json")
    few_columns(120, seed=3).to_csv("out.csv", index=False)
    words = ["audit", "--train", "train.csv", "--synthetic", "out.csv", "--metrics", "identical_match_share"]
    result = CliRunner().invoke(app, [*words, "--shadow", "found.json", "--json", "report.json"])
    assert result.exit_code == 0, result.output
    assert TITLE in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    made = CliRunner().invoke(app, ["config", "report.json", "--out", "audit.yaml"])
    assert made.exit_code == 0
    again = CliRunner().invoke(app, ["audit", "--config", "audit.yaml", "--json", "again.json", "--quiet"])
    assert again.exit_code == 0, again.output
    one, other = (tabveil.Report.read(name) for name in ("report.json", "again.json"))
    assert one.shadow == other.shadow == attacked
    over = CliRunner().invoke(app, [*words, "--shadow", "found.json", "--json", "found.json", "--force"])
    assert over.exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file"),
        ("", "not what this version's 'tabveil attack --json' writes"),
        ("{}", "not what this version's"),
        ("[1]", "not what this version's"),
        ('{"kind": "shadow"}', "not what this version's"),
    ],
)
def test_a_file_that_is_no_result_is_refused_in_a_line(folder, text, message):
    if text is not None:
        Path("found.json").write_text(text, encoding="utf-8")
    words = ["audit", "--train", "train.csv", "--synthetic", "train.csv", "--shadow", "found.json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line


def test_a_changed_result_is_no_way_into_a_page(attacked):
    data = json.loads(attacked.json_text())
    data["generator"] = "<script>alert(1)</script>"
    data["notes"] = ["\x1b[2J<b>"]
    data["attacks"][1]["secret"] = "<i>x"
    page = tabveil.html_page(audited(tabveil.ShadowResult.from_json(data)))
    for text in ("<script>alert", "<b>", "<i>x", "\x1b"):
        assert text not in page


def test_no_promise_is_read_beside_a_seed_that_is_told():
    """The fits of an attack can be made again by anybody who reads its seed."""
    people = pd.DataFrame({"sex": ["f", "m"] * 10, "age": range(20)})
    asked = {"targets": 2, "fits": 40, "rows": 8, "seed": 3}
    private = tabveil.attack(people, generator="aim", settings={"rounds": 8, "iterations": 2}, **asked)
    assert SEED_IS_TOLD in private.notes
    assert SEED_IS_TOLD not in tabveil.attack(people, generator="marginals", **asked).notes
