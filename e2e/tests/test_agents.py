"""Where an agent's program comes from, and what is said when it comes from nowhere."""

from pathlib import Path

import pytest

from stormpool.agents import build
from stormpool.errors import MachineError, Misuse


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_every_version_is_a_folder_that_pins_it() -> None:
    recipes = build.recipes()
    assert {"1.3.1", "1.6.0", "1.6.1", "1.6.2", "1.8.0", "1.9.0", "1.10.5"} <= set(recipes)
    for version, recipe in recipes.items():
        assert f"require github.com/hashicorp/nomad v{version}\n" in (recipe.folder / "go.mod").read_text()


def test_a_path_is_used_as_it_is(tmp_path: Path) -> None:
    path = program(tmp_path / "nomad", "Nomad v1.99.0-dev")
    assert build.resolve(str(path)) == build.Agent("1.99.0-dev", path)


def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="is not a program"):
        build.resolve(str(tmp_path / "nomad"))


def test_a_program_that_is_no_agent(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="which is no version"):
        build.resolve(str(program(tmp_path / "nomad", "hello")))


def test_an_unknown_version_names_the_known() -> None:
    with pytest.raises(Misuse, match=r"no Nomad '9\.9\.9' is known; known are 1\.3\.1, .*1\.10\.5"):
        build.resolve("9.9.9")


def test_a_cached_program_must_say_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = program(build.recipes()["1.6.1"].cached, "Nomad v1.6.0")
    with pytest.raises(MachineError, match=r"says it is 1\.6\.0, not 1\.6\.1"):
        build.resolve("1.6.1")
    program(path, "Nomad v1.6.1")
    assert build.resolve("v1.6.1").path == path


def test_without_go_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Misuse, match="no Go to build it with") as caught:
        build.resolve("1.6.1")
    assert "install Go" in caught.value.fix
