"""The timeline widget: the module's numbers under node, the traits in Python, the sliders in a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit.errors import UsageError
from labkit.pipeline import TimelineWidget, jittered, simulate

HERE = Path(__file__).parent
MODULE = HERE.parents[1] / "labkit" / "pipeline" / "timeline.js"
GOLDEN = json.loads((HERE / "golden.json").read_text())


def node() -> str | None:
    """A node to run the module with: the one on PATH, or the one that playwright brings along."""
    if found := shutil.which("node"):
        return found
    try:
        import playwright
    except ImportError:
        return None
    own = Path(playwright.__file__).parent / "driver" / "node"
    return str(own) if own.exists() else None


def run_module(tmp_path: Path, code: str, given: object) -> object:
    """What `code` returns in node, as JSON; the module's exports and `given` are in scope."""
    if not (binary := node()):
        pytest.skip("no node on PATH and no playwright to borrow one from")
    shutil.copy(MODULE, tmp_path / "timeline.mjs")
    (tmp_path / "given.json").write_text(json.dumps(given))
    (tmp_path / "run.mjs").write_text(
        "import { readFileSync } from 'node:fs';\n"
        "import { simulate, jittered, times, summary } from './timeline.mjs';\n"
        "const given = JSON.parse(readFileSync('given.json', 'utf8'));\n"
        f"console.log(JSON.stringify((() => {{ {code} }})()));\n"
    )
    done = subprocess.run([binary, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_javascript_agrees_with_the_golden_lines_to_the_last_bit(tmp_path):
    code = (
        "return given.map((c) => simulate(c.prepare, c.train,"
        " { depth: c.depth, workers: c.workers, getCost: c.get_cost }));"
    )
    for case, line in zip(GOLDEN["lines"], run_module(tmp_path, code, GOLDEN["lines"]), strict=True):
        for name, key in [
            ("prepare_start", "prepareStart"),
            ("prepare_end", "prepareEnd"),
            ("train_start", "trainStart"),
            ("train_end", "trainEnd"),
            ("waits", "waits"),
            ("makespan", "makespan"),
        ]:
            assert line[key] == case[name], (case["name"], name)


def test_javascript_agrees_with_the_golden_jitter_to_the_last_bit(tmp_path):
    code = "return given.map((c) => jittered(c.time, c.batches, c.amount, c.seed));"
    assert run_module(tmp_path, code, GOLDEN["jitter"]) == [case["times"] for case in GOLDEN["jitter"]]


def test_javascript_and_python_show_the_same_run(tmp_path):
    widgets = [
        TimelineWidget(prepare=25, train=9, batches=24, workers=3, depth=3, jitter=0.6, seed=2**32 - 1, get_cost=0.5),
        simulate([6, 20, 3, 9, 14], [10, 8, 8, 12, 5], depth=1).show(),
        simulate([0, 0], [3, 5]).show(),
    ]
    widgets[1].prepare, widgets[1].batches = 20.8, 4
    names = ["prepare", "train", "batches", "jitter", "seed", "trace_prepare", "trace_train"]
    given = [
        {
            "state": {name: getattr(widget, name) for name in names},
            "setting": {"depth": widget.depth, "workers": widget.workers, "getCost": widget.get_cost},
        }
        for widget in widgets
    ]
    code = "return given.map(({ state, setting }) => simulate(...times(state), setting));"
    for widget, line in zip(widgets, run_module(tmp_path, code, given), strict=True):
        python = widget.timeline()
        assert (line["trainStart"], line["blocked"]) == (list(python.train_start), list(python.blocked))
        assert line["queued"] == list(python.queued)


def test_the_live_text_names_the_key_figures(tmp_path):
    code = "return given.map(([p, c]) => summary(simulate(p, c), 'ms'));"
    slow, quick = run_module(tmp_path, code, [[[14] * 4, [10] * 4], [[6] * 4, [10] * 4]])
    assert slow == (
        "Serial 96 ms, overlapped 66 ms. First wait 14 ms. After it the trainer stalls 3 times, 12 ms in all."
    )
    assert quick == "Serial 64 ms, overlapped 46 ms. First wait 6 ms. After it the trainer never stalls."


def test_the_module_asks_nothing_of_the_network():
    code = MODULE.read_text()
    for word in ("fetch(", "import ", "XMLHttpRequest", "https:", "WebSocket"):
        assert word not in code
    assert code.count("http://") == code.count("http://www.w3.org/2000/svg") == 1


def test_show_opens_at_the_timelines_own_settings():
    widget = simulate(6, 10, batches=4, workers=2, prefetch_factor=3, get_cost=0.5).show()
    assert (widget.prepare, widget.train, widget.batches, widget.depth, widget.workers) == (6, 10, 4, 4, 2)
    assert (widget.get_cost, widget.trace_prepare) == (0.5, [])
    trace = simulate([6, 8.5, 3.1], 10, depth=1)
    assert trace.show().timeline() == trace
    assert trace.show().prepare == pytest.approx(17.6 / 3)


def test_jitter_comes_from_two_seeds():
    timeline = TimelineWidget(prepare=6, train=10, batches=5, jitter=0.5, seed=7).timeline()
    assert list(timeline.prepare) == jittered(6, 5, 0.5, 7)
    assert list(timeline.train) == jittered(10, 5, 0.5, 8)


def test_a_text_twin_is_there_where_widgets_arent():
    bundle = simulate(14, 10, batches=4).show()._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "serial 96, overlapped 66" in data["text/plain"]
    assert "waits 12 in all (3 times)" in data["text/plain"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prepare", -1),
        ("train", float("nan")),
        ("batches", 0),
        ("depth", -1),
        ("workers", 0),
        ("jitter", 2),
        ("get_cost", float("inf")),
        ("seed", -1),
        ("trace_prepare", [1.0, -1.0]),
    ],
)
def test_values_that_cant_be_used_are_named(name, value):
    with pytest.raises(UsageError, match=f"^{name}"):
        TimelineWidget(**{name: value})
    widget = TimelineWidget()
    before = getattr(widget, name)
    with pytest.raises(UsageError, match=f"^{name}"):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


PAGE = """<!doctype html><html lang="en"><title>timeline</title><style>STYLE</style><div id="here"></div>
<script type="module">
import widget from "/timeline.js";
const state = STATE, listeners = {};
window.model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; (listeners["change:" + name] || []).forEach((call) => call()); },
  save_changes: () => { window.saved = (window.saved || 0) + 1; },
  on: (names, call) => names.split(" ").forEach((name) => (listeners[name] = listeners[name] || []).push(call)),
  off: (names, call) => names.split(" ").forEach((name) => {
    listeners[name] = listeners[name].filter((other) => other !== call);
  }),
};
window.end = widget.render({ model: window.model, el: document.getElementById("here") });
</script>"""


@pytest.fixture
def page(chromium):
    """A page of a real Chromium that can reach nothing but the module."""
    page = chromium.new_page(viewport={"width": 1000, "height": 700})
    page.set_default_timeout(60_000)
    yield page
    page.close()


def open_widget(page, widget):
    """Show `widget` on `page`; returns the list that errors and foreign requests are put into."""
    names = ["prepare", "train", "batches", "depth", "workers", "jitter", "seed", "get_cost", "unit"]
    state = {name: getattr(widget, name) for name in [*names, "trace_prepare", "trace_train"]}
    html = PAGE.replace("STYLE", (MODULE.parent / "timeline.css").read_text()).replace("STATE", json.dumps(state))
    trouble = []

    def answer(route):
        path = route.request.url.removeprefix("http://labkit.test")
        if path == "/":
            return route.fulfill(body=html, content_type="text/html; charset=utf-8")
        if path == "/timeline.js":
            return route.fulfill(body=MODULE.read_text(), content_type="text/javascript; charset=utf-8")
        trouble.append(route.request.url)
        return route.abort()

    page.route("**/*", answer)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto("http://labkit.test/")
    page.wait_for_selector(".labkit-timeline svg[role=img]")
    return trouble


@pytest.mark.browser
def test_a_slider_moved_with_the_keyboard_changes_drawing_text_and_table(page):
    trouble = open_widget(page, TimelineWidget(prepare=6, train=10, batches=4))
    drawing, text = page.locator("svg[role=img]"), page.locator("[aria-live=polite]")
    assert text.inner_text().startswith("Serial 64 ms, overlapped 46 ms. First wait 6 ms.")
    assert drawing.locator(".lk-wait").count() == 1
    page.get_by_text("The same as a table").click()
    page.keyboard.press("Shift+Tab")  # from the table's summary back over the sliders, as one does without a mouse
    for _ in range(5):
        page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "prepare"
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    assert text.inner_text().endswith("After it the trainer stalls 3 times, 12 ms in all.")
    assert text.inner_text() in drawing.get_attribute("aria-label")
    assert [t for t in drawing.locator("text").all_text_contents() if "wait" in t] == ["first wait 14"] + ["wait 4"] * 3
    assert drawing.locator(".lk-wait").first.evaluate("e => e.style.fill").startswith('url("#labkit-timeline')
    rows = page.locator("tbody tr").all_inner_texts()
    assert rows[1].split() == ["1", "14", "28", "28", "28", "38", "4", "0"]
    assert page.get_by_label("prepare").get_attribute("aria-valuetext") == "14 ms"
    assert page.get_by_label("prepare").get_attribute("data-lm-suppress-shortcuts") == "true"  # or JupyterLab eats keys
    assert page.evaluate("window.model.get('prepare')") == 14
    assert page.evaluate("window.saved") == 8
    assert trouble == []


@pytest.mark.browser
def test_every_slider_reaches_the_model_and_depth_can_be_without_limit(page):
    open_widget(page, TimelineWidget(prepare=25, train=9, batches=12, depth=1, workers=2, jitter=0.5))
    for name, key, value in [
        ("train", "Home", 0),
        ("batches", "ArrowLeft", 11),
        ("depth", "End", None),
        ("workers", "ArrowRight", 3),
        ("jitter", "Home", 0),
        ("depth", "Home", 0),
    ]:
        page.get_by_label(name, exact=True).focus()
        page.keyboard.press(key)
        assert page.evaluate(f"window.model.get('{name}')") == value
    assert page.locator("svg[role=img] .lk-lane").all_text_contents()[1:] == [
        "worker 0",
        "worker 1",
        "worker 2",
        "trainer",
    ]


@pytest.mark.browser
def test_a_recorded_trace_keeps_its_shape_and_switches_jitter_off(page):
    trouble = open_widget(page, simulate([6, 20, 3, 9, 14], [10, 8, 8, 12, 5], depth=1).show())
    assert page.locator("[aria-live=polite]").inner_text().startswith("Serial 95 ms, overlapped 59 ms.")
    assert page.get_by_label("jitter").is_disabled()
    assert "jitter is off" in page.locator(".labkit-timeline").inner_text()
    assert trouble == []


@pytest.mark.browser
def test_a_change_from_python_is_drawn_and_a_closed_view_stays_closed(page):
    trouble = open_widget(page, TimelineWidget())
    page.evaluate("window.model.set('prepare', 14)")
    assert page.locator("[aria-live=polite]").inner_text().startswith("Serial 96 ms")
    page.evaluate("window.end()")
    page.evaluate("window.model.set('prepare', 6)")
    assert page.locator("[aria-live=polite]").inner_text().startswith("Serial 96 ms")
    assert trouble == []
