"""The disk cache: what is part of the key, where it lives, and that a broken disk costs nothing but the entry."""

from __future__ import annotations

import pytest

from ptxgen.assemble import assemble, cache, front

TEXT = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    import cuda.core.utils  # noqa: F401  (short texts ask the disk only where cuda.core is loaded)

    monkeypatch.setenv("PTXGEN_CACHE_DIR", str(tmp_path / "cubins"))
    monkeypatch.delenv("PTXGEN_CACHE", raising=False)
    return tmp_path / "cubins"


def test_each_part_changes_the_key():
    base = ("text", "sm_90", ("-v",), "nvJitLink 13.5")
    variants = [
        base,
        ("text ", "sm_90", ("-v",), "nvJitLink 13.5"),
        ("text", "sm_90a", ("-v",), "nvJitLink 13.5"),
        ("text", "sm_90", ("-v", "-O1"), "nvJitLink 13.5"),
        ("text", "sm_90", ("-v-O1",), "nvJitLink 13.5"),
        ("text", "sm_90", (), "nvJitLink 13.5"),
        ("text", "sm_90", ("-v",), "nvJitLink 13.6"),
        ("sm_90text", "", ("-v",), "nvJitLink 13.5"),
    ]
    assert len({cache.cache_key(*variant) for variant in variants}) == len(variants)
    assert cache.cache_key(*base) == cache.cache_key(*base)


def test_the_second_time_no_assembler_runs(folder, monkeypatch):
    first = assemble(TEXT)
    assert folder.is_dir()

    def refuse(*args):
        raise AssertionError("assembled again")

    monkeypatch.setattr(front, "run_nvjitlink", refuse)
    again = assemble(TEXT)
    assert (again.code, again.log, again.resources) == (first.code, first.log, first.resources)
    with pytest.raises(AssertionError, match="assembled again"):
        assemble(TEXT, "sm_90a")
    with pytest.raises(AssertionError, match="assembled again"):
        assemble(TEXT, cache=False)


def test_switched_off(folder, monkeypatch):
    monkeypatch.setenv("PTXGEN_CACHE", "0")
    assemble(TEXT)
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_costs_only_the_entry(tmp_path, monkeypatch, folder):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("PTXGEN_CACHE_DIR", str(blocked / "below"))
    assert assemble(TEXT).code[:4] == b"\x7fELF"


def test_where_it_lives(monkeypatch, tmp_path):
    monkeypatch.delenv("PTXGEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_dir() == tmp_path / "ptxgen" / "cubins"
    monkeypatch.setenv("PTXGEN_CACHE_DIR", str(tmp_path / "mine"))
    assert cache.cache_dir() == tmp_path / "mine"
