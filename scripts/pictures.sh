#!/usr/bin/env bash
# Makes the pictures of README from the tab edition, as it is now: docs/wire.png and the film docs/see-the-wire.webp; and those of
# docs/tanks.md from target/debug/tickwire. Look at them before you commit them.
#
#   scripts/pictures.sh [tanks]    with `tanks`, only its pictures
#
# Needs Chromium and Node as the tests do, and Python with pip, which brings Pillow into target/pictures/.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$PWD/target/pictures
rm -rf "$work/shots"
[ -d "$work/pillow" ] || python3 -m pip install --quiet --target "$work/pillow" pillow
node tests/browser/tanks-pictures.mjs "$work/shots"
PYTHONPATH=$work/pillow python3 - "$work/shots" docs <<'PYTHON'
import sys
from pathlib import Path

from PIL import Image

shots, docs = map(Path, sys.argv[1:])
for name in ["tanks", "tanks-phone"]:
    Image.open(shots / f"{name}.png").convert("P", palette=Image.ADAPTIVE, colors=256).save(docs / f"{name}.png", optimize=True)
    print(f"docs/{name}.png, {(docs / f'{name}.png').stat().st_size} bytes")
PYTHON
[ "${1-}" != tanks ] || exit 0
rm -rf "$work/shots"
node tests/browser/film.mjs "$work/shots"
PYTHONPATH=$work/pillow python3 - "$work/shots" docs <<'PYTHON'
import sys
from pathlib import Path

from PIL import Image

shots, docs = map(Path, sys.argv[1:])
paths = sorted(shots.glob("*-*.png"))
frames = [Image.open(path).convert("RGB").resize((1120, 630), Image.LANCZOS) for path in paths]
times = [int(path.stem.split("-")[1]) for path in paths]
frames[0].save(docs / "see-the-wire.webp", save_all=True, append_images=frames[1:], duration=times, loop=0, quality=72, method=6)
Image.open(shots / "wire.png").convert("P", palette=Image.ADAPTIVE, colors=256).save(docs / "wire.png", optimize=True)
print(f"{len(frames)} pictures, {sum(times) / 1000:.0f} s, {(docs / 'see-the-wire.webp').stat().st_size} bytes")
PYTHON
