#!/usr/bin/env python3
"""Packs what gpu-check needs into one folder, for a GPU machine that has neither our packages nor a network.

  ./bootstrap gpu-check --pack build/gpu-kit          here, where it builds
  build/gpu-kit/scripts/gpu_check.py --build build/gpu-kit/build      there

The programs, the shared libraries that they need and that a machine may lack, the models, and text to train on. Not the
C library, the compiler's run time, the driver or CUDA: those are the machine's.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ["cli/trainyard", "tests/executor/test_executor", "tests/executor/worker/test_parity"]
MACHINES_OWN = re.compile(r"^(ld-linux|libc\.|libm\.|libdl\.|librt\.|libpthread\.|libstdc\+\+|libgcc_s|libcuda\.|libnvidia"
                          r"|libcublas|libcudart|libcudnn|libnvrtc|libnccl)")


def shared_libraries(program):
    out = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", out, re.M):
        if not MACHINES_OWN.match(name):
            yield name, pathlib.Path(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/gpu")
    parser.add_argument("--pack", required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    build, kit = pathlib.Path(arguments.build), pathlib.Path(arguments.pack)
    shutil.rmtree(kit, ignore_errors=True)
    (kit / "build" / "lib").mkdir(parents=True)
    modules = [path.relative_to(build) for path in build.rglob("libtrainyard_cu*.so")]
    for program in PROGRAMS + sorted(modules):
        source = build / program
        # Modules are looked for beside the program that loads them.
        places = {(build / one).parent for one in PROGRAMS} if source.suffix == ".so" else {source.parent}
        for place in places:
            target = kit / "build" / place.relative_to(build) / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        for name, library in shared_libraries(source):
            shutil.copy2(library.resolve(), kit / "build" / "lib" / name)
    for folder in ("scripts", "models"):
        shutil.copytree(ROOT / folder, kit / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for pattern in ("docs/*.md", "core/*/*.h", "executor/*/*.h"):
        for file in ROOT.glob(pattern):
            target = kit / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
    size = sum(file.stat().st_size for file in kit.rglob("*") if file.is_file())
    print(f"{kit}: {size / 2**20:.0f} MiB, modules: {', '.join(path.name for path in modules) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
