"""docs/attacks.md: an attack says what refuses it and where a person sees that."""

from pathlib import Path

import pytest

from tools import attacks_page

FILE = '''"""From a test: somebody.{seen}"""


def test_a() -> None:
    """Do it.

    Refused by: the agent,
    by the MAC.{own}
    """


def test_b() -> None:
    """Not an attack: it works."""
'''


def read(folder: Path, seen: str = "", own: str = "") -> attacks_page.Attacker:
    path = folder / "test_a.py"
    path.write_text(FILE.format(seen=seen, own=own))
    return attacks_page.read(path)


def test_an_attack_has_the_place_of_its_own_docstring_or_of_the_file(tmp_path: Path) -> None:
    of_file = "\n\nSeen in: the standard error\nof `up`.\n"
    attacker = read(tmp_path, of_file)
    assert attacker.where == "From a test"
    assert attacker.attacks == (attacks_page.Attack("Do it.", "the agent, by the MAC.", "the standard error of `up`."),)
    [attack] = read(tmp_path, of_file, "\n    Seen in: the agent's log,\n    as an error.").attacks
    assert (attack.refused_by, attack.seen_in) == ("the agent, by the MAC.", "the agent's log, as an error.")


@pytest.mark.parametrize("own", ["", "\n    Seen in: somewhere."])
def test_an_attack_without_a_known_place_is_refused(tmp_path: Path, own: str) -> None:
    with pytest.raises(ValueError, match=r"test_a\.py: test_a needs a line `Seen in: \.\.\.` with one of: standard"):
        read(tmp_path, own=own)


def test_each_place_says_how_to_look_there() -> None:
    text = attacks_page.render()
    for place, how in attacks_page.PLACES.items():
        assert f"| {place} | {how} |" in text
        assert any(place in row.rpartition(" | ")[2] for row in text.split("## ")[1:] for row in row.splitlines())


def test_the_proof_counts_each_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read(tmp_path, "\n\nSeen in: the report.\n")
    monkeypatch.setattr(attacks_page, "FOLDER", tmp_path)
    monkeypatch.setattr(attacks_page, "PROOF", tmp_path / "proof.md")
    attacks_page.PROOF.write_text(f"a\n{attacks_page.BEGIN}old\n{attacks_page.END}b\n")
    text = attacks_page.proof()
    assert text.startswith(f"a\n{attacks_page.BEGIN}| attacker |") and text.endswith(f"{attacks_page.END}b\n")
    assert "| From a test | 1 | always | tests/attacks/test_a.py |\n| all | 1 | 1 always, 0 in `make lab` |" in text
    attacks_page.PROOF.write_text("a\n")
    with pytest.raises(ValueError, match="table of attacks"):
        attacks_page.proof()
