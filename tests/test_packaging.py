"""The wheel holds everything, with `kernels/` as `gputree.kernels`, and pulls in no GPU package."""

import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

import gputree

ROOT = Path(__file__).parents[1]
SOURCES = ["gputree", "kernels"]
FILES = ["pyproject.toml", "README.md", "LICENSE"]
GPU_PACKAGES = ("nvidia", "cupy", "cuda", "numba-cuda", "torch", "rapids", "cudf")


def can_build():
    try:
        return int(version("setuptools").split(".")[0]) >= 77 and find_spec("pip") is not None
    except PackageNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not can_build(), reason="needs pip and setuptools>=77 to build")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that neither old files in build/ nor new ones in the tree matter."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in SOURCES:
        litter = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, source / folder, ignore=litter)
    for file in FILES:
        shutil.copy(ROOT / file, source)
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation"]
    offline = ["--no-index", "--disable-pip-version-check", "--quiet", "--wheel-dir", str(out)]
    run = subprocess.run([*command, *offline], cwd=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    (built,) = out.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return HeaderParser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_every_module_and_nothing_else(wheel):
    expected = {"gputree/py.typed", "gputree/export/model.schema.json"}
    for path in [path for folder in SOURCES for path in (ROOT / folder).rglob("*.py")]:
        inside = path.relative_to(ROOT).as_posix()
        expected.add(f"gputree/{inside}" if inside.startswith("kernels/") else inside)
    assets = (ROOT / "gputree/report/assets").iterdir()
    expected |= {path.relative_to(ROOT).as_posix() for path in assets}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {name for name in held if not name.endswith(".csv")} == expected
    assert any(name.startswith("gputree/kernels/") for name in held)


def test_the_wheel_is_pure_python(wheel):
    assert "py3-none-any" in Path(wheel.filename).name


def test_the_wheel_carries_the_licence(wheel):
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_a_plain_install_pulls_in_no_gpu_package(metadata):
    required = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert {"numpy", "scikit-learn"} <= {line.split(">")[0] for line in required}
    assert not [line for line in required if line.lower().startswith(GPU_PACKAGES)]


def test_the_extras_bring_what_a_gpu_needs(metadata):
    for extra in ("cuda12", "cuda13"):
        lines = [
            line for line in metadata.get_all("Requires-Dist") if f'extra == "{extra}"' in line
        ]
        assert any(line.startswith("cupy") for line in lines)
        assert any(line.startswith("numba-cuda") for line in lines)


def test_the_version_is_the_same_everywhere(metadata):
    assert metadata["Version"] == gputree.__version__
    assert metadata["Name"] == "gputree-ml"


def test_commands_point_at_functions_that_exist(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    for line in wheel.read(name).decode().splitlines():
        if " = " in line:
            module, _, function = line.split(" = ")[1].partition(":")
            assert f"def {function}" in wheel.read(f"{module.replace('.', '/')}.py").decode()
