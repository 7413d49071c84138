"""Takes screenshots of the reports that tools/docs/pictures.sh makes, as small PNG files of few colours.

usage: pictures.py WORK_DIRECTORY OUTPUT_DIRECTORY [measured]
`measured`: only the report that tools/docs/measured.sh makes.
"""
import io, os, sys

from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tests/browser"))
from chromium import Page

work, out = sys.argv[1:3]
measured = sys.argv[3:] == ["measured"]
FIGURE = "document.getElementById('figure')"


def take(page, name, of=None, width=None):
    path = os.path.join(work, "shot.png")
    page.picture(path)
    image = Image.open(path).convert("RGB")
    if of:
        left, top, right, bottom = page.evaluate(
            f"(() => {{ const b = {of}.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; }})()")
        image = image.crop((int(left), int(top), int(right + 1), int(min(bottom + 1, image.height))))
    # Elements of few pixels, such as a copy or a line, keep their colours. A median cut would change them.
    image.quantize(240, method=Image.Quantize.MAXCOVERAGE, kmeans=3,
                   dither=Image.Dither.NONE).save(os.path.join(out, name), optimize=True)
    print(name, os.path.getsize(os.path.join(out, name)))


def report(name, width, height, dark=False):
    return Page(os.path.join(work, name + ".html"), width=width, height=height, dark=dark)


if measured:
    with report("measured", 1240, 1000) as page:
        page.wait_for("window.page !== undefined")
        page.evaluate(f"{FIGURE}.scrollIntoView()")
        take(page, "measured.png", of=FIGURE)
    sys.exit()
with report("auto", 1240, 1000) as page:
    page.wait_for("window.page !== undefined")
    take(page, "report.png")
with report("auto", 1240, 1200, dark=True) as page:
    page.wait_for("window.page !== undefined")
    # The largest offloaded tensor.
    page.evaluate("""(() => { const t = page.plan.tensors; let best = -1;
      t.fate.forEach((fate, i) => { if (fate === FATE_OFFLOAD && (best < 0 || t.bytes[i] > t.bytes[best])) best = i; });
      page.chooseTensor(best); })()""")
    take(page, "report-dark.png")
for policy in ("auto", "superneurons", "sublinear", "vdnn-all-p", "modnn", "dymem"):
    with report(policy, 860, 900) as page:
        page.wait_for("window.page !== undefined")
        page.evaluate(f"{FIGURE}.scrollIntoView()")
        take(page, f"resnet50-{policy}.png", of=FIGURE)
for name, size in (("compare", (1000, 1800)), ("frontier", (1000, 640))):
    with report(name, *size) as page:
        take(page, f"resnet50-{name}.png", of="document.querySelector('section')")
