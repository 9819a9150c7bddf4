"""What stages share: running programs, what they said, and text to train on."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Skipped(Exception):
    """A stage that can't run here, and why."""


def text_of(command, timeout, **more):
    """Runs a command; (exit status or None where it ran out of time, what it printed)."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              errors="replace", timeout=max(1, timeout), **more)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
        return None, out if isinstance(out, str) else out.decode(errors="replace")
    except OSError as failure:
        return 127, str(failure)


def last_lines(text, count=4):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " / ".join(lines[-count:])[:600]


def reason(said):
    """What trainyard says is wrong, without its name and its hint."""
    lines = [line for line in said.splitlines() if line.startswith("trainyard: ")]
    return lines[-1].removeprefix("trainyard: ")[:200] if lines else last_lines(said, 2)


def record_lines(run):
    """The lines of a run's record."""
    return [json.loads(line) for line in (run / "record.jsonl").read_text().splitlines()]


def training_text(check):
    """Text that lies here anyway: this repository's."""
    path = check.folder / "text.txt"
    if not path.exists():
        parts = [file.read_text(errors="ignore") for pattern in ("docs/*.md", "core/*/*.h", "executor/*/*.h",
                                                                 "core/*/*.cpp", "simulator/*/*.cpp")
                 for file in sorted(ROOT.glob(pattern))]
        path.write_text("\n".join(parts))
    return path
