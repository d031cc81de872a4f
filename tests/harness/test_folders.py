"""What a side leaves in a folder cannot keep the referee from removing it."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.harness.sides import folders


def test_folders_of_any_depth_go_and_what_links_point_to_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    back = Path.cwd()
    with folders.temporary(inside=tmp_path) as made:
        assert made.stat().st_mode & 0o077 == 0
        (made / "link").symlink_to(kept)
        os.chdir(made)
        try:
            for _ in range(1500):
                os.mkdir("d")
                os.chdir("d")
        finally:
            os.chdir(back)
    assert os.listdir(tmp_path) == ["kept"]
    assert (kept / "file").exists()


def test_an_error_inside_comes_through(tmp_path: Path) -> None:
    made = None
    try:
        with folders.temporary(inside=tmp_path) as made:
            raise KeyError("inside")
    except KeyError:
        pass
    assert made is not None
    assert not made.exists()
