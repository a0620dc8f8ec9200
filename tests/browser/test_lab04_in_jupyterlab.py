"""Lab 04 in a real JupyterLab in a real Chromium: real ranks from a notebook, who read what drawn, wrong and right."""

from __future__ import annotations

import answerbook
import labdriver
import pytest

from labkit.course import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB04 = next(path for path in answerbook.LABS if path.name.startswith("04"))

WRONG = """
def my_share(samples, ranks, rank, drop_last):
    return list(range(samples))[rank::ranks]
""".strip()

# How much of an image is neither white nor of the page: an empty drawing has next to nothing.
INK = """async image => {
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
  let inked = 0;
  for (let i = 0; i < data.length; i += 4) inked += data[i] + data[i + 1] + data[i + 2] < 700;
  return inked / (data.length / 4);
}"""


def picture(output):
    image = output.locator("img[alt]").first
    image.wait_for()
    return image


def test_lab_04(page, server, shot):
    lab = labdriver.Notebook(page, server, LAB04.name, [cell.id for cell in load(LAB04).cells])
    lab.run_all()
    shot("opened")

    # Runs top to bottom, real ranks included; the checks say "not answered".
    for exercise in load(LAB04).exercises:
        assert "Not answered yet" in lab.output(exercise.check).inner_text()
    assert "unequal: rank" in lab.output("uneven").inner_text()
    assert "True" in lab.output("accelerate").inner_text()
    assert "1.5" in lab.output("join").inner_text()

    # The ledger of the first picture: what every rank read is drawn, with its words and its table.
    naive = picture(lab.output("naive"))
    assert "36 again" in naive.get_attribute("alt")
    assert naive.evaluate(INK) > 0.05
    lab.output("naive").locator("summary").first.click()
    assert lab.output("naive").locator("table").first.is_visible()
    assert labdriver.fits(lab.output("naive"))
    shot("ledger", lab.cell("naive"))

    # An answer that is open draws nothing; a wrong one is drawn as it is, and its card fails.
    assert "still open" in picture(lab.output("sharding-distributed-sampler-draw")).get_attribute("alt")
    lab.type("sharding-distributed-sampler-answer", WRONG)
    lab.run("sharding-distributed-sampler-answer")
    drawn = picture(lab.run("sharding-distributed-sampler-draw"))
    assert "steps 3, 3, 2, 2" in drawn.get_attribute("alt")
    assert drawn.evaluate(INK) > 0.05
    shot("wrong-drawing", lab.cell("sharding-distributed-sampler-draw"))
    failing = lab.run("sharding-distributed-sampler-check")
    assert "Not yet" in failing.inner_text()
    assert "Try next" in failing.inner_text()
    assert "the others wait for it" in failing.inner_text()
    assert labdriver.fits(failing)
    shot("failing-card", lab.cell("sharding-distributed-sampler-check"))

    # The right one: borrowed ids in the drawing, a passing card.
    lab.type("sharding-distributed-sampler-answer", answerbook.reference("sharding.distributed_sampler"))
    lab.run("sharding-distributed-sampler-answer")
    drawn = picture(lab.run("sharding-distributed-sampler-draw"))
    assert "2 again, 0 read by nobody" in drawn.get_attribute("alt")
    assert "Passed" in lab.run("sharding-distributed-sampler-check").inner_text()
    shot("passing-card", lab.cell("sharding-distributed-sampler-check"))

    # A function typed in a cell goes to real ranks and comes back drawn.
    lab.type("sharding-hang-answer", answerbook.reference("sharding.hang"))
    lab.run("sharding-hang-answer")
    gradients = picture(lab.run("sharding-hang-draw"))
    assert "rank 0: 1, 2, 3; rank 1: 1, 2" in gradients.get_attribute("alt")
    shot("gradients", lab.cell("sharding-hang-draw"))
    assert "Passed" in lab.run("sharding-hang-check").inner_text()

    progress = lab.run("progress")
    assert "6 of 24 points" in progress.inner_text()
    shot("progress", lab.cell("progress"))
    assert page.errors == []
    assert page.strangers == []
