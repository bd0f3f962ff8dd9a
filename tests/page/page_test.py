# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of reports, in a browser, on a wide and on a narrow screen.

usage: python tests/page/page_test.py PAGE.html... [--screenshots FOLDER]

Whatever the data of a page: it is drawn at once, asks for no other file and
says nothing on the console; it has the sections that there is data for; no text
covers another one or leaves its section; ops and steps can be selected with a mouse
and with keys.
"""

import argparse
import base64
import json
import pathlib
import shutil
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# Of a CPU, for what is out of sight at first as well: less than a second on one that is
# not slow.
MOST_MS = 5000
WIDTHS = {1280: 900, 1100: 900, 400: 800}  # and heights

# Before anything else in a page: that it is drawn.
WATCH = """
new MutationObserver((changes, observer) => {
  if (document.documentElement?.dataset.drawn !== 'yes') return;
  observer.disconnect();
  const note = () => { window.isDrawn = true; };
  requestAnimationFrame(() => setTimeout(note));
}).observe(document, {subtree: true, attributes: true, childList: true});
"""

# For that.
WAIT = """
const done = arguments[0];
(function look() { window.isDrawn ? done() : setTimeout(look, 5); })();
"""

# For what comes behind that is in view at first.
COMPLETE = """
const done = arguments[0];
const isComplete = () =>
  !document.querySelector('#graph') || document.documentElement.dataset.complete === 'yes';
(function look() { isComplete() ? done() : setTimeout(look, 5); })();
"""

# What is wrong with how a page lies there: a list of sentences.
LAYOUT = """
const problems = [];
const say = (node) => `"${node.textContent.trim().slice(0, 40)}"`;
const isShown = (element) =>
  element.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true});

function textsOf(part) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.textContent.trim() || !isShown(node.parentElement)) continue;
    if (node.parentElement.closest('.blocks') !== part.closest('.blocks')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects())
      if (rect.width > 1) texts.push({node, rect});
  }
  return texts.sort((a, b) => a.rect.top - b.rect.top);
}

function findOverlaps(texts) {
  for (let i = 0; i < texts.length; ++i) {
    const {node, rect} = texts[i];
    for (let j = i + 1; j < texts.length && texts[j].rect.top < rect.bottom - 2; ++j) {
      const other = texts[j];
      const right = Math.min(rect.right, other.rect.right);
      if (right - Math.max(rect.left, other.rect.left) > 1)
        problems.push(`${say(node)} and ${say(other.node)} overlap`);
    }
  }
}

function findEscapes(texts, part) {
  for (const {node, rect} of texts) {
    const box = (node.parentElement.closest('svg.picture, .row, td, li, .tile') || part)
      .getBoundingClientRect();
    if (rect.left < box.left - 1 || rect.right > box.right + 1 ||
        rect.top < box.top - 2 || rect.bottom > box.bottom + 2)
      problems.push(`${say(node)} leaves its place`);
  }
}

const parts = '#head, #nav, section, .blocks, #details';
for (const part of document.querySelectorAll(parts)) {
  if (!isShown(part)) continue;
  const texts = textsOf(part);
  if (part.id !== 'details') findEscapes(texts, part);
  findOverlaps(texts);
  const box = part.getBoundingClientRect();
  for (const svg of part.querySelectorAll('svg.picture'))
    if (svg.getBoundingClientRect().right > box.right)
      problems.push(`a picture of ${part.id} is too wide`);
}
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) problems.push('the page scrolls sideways');
return problems.slice(0, 10);
"""


def open_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.add_argument("--hide-scrollbars")
    logs = {"browser": "ALL", "performance": "ALL"}
    options.set_capability("goog:loggingPrefs", logs)
    browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    return browser


def rate_is_known(data, function, step, kernel):
    if function["profile"]:
        measured = function["profile"]["steps"][step]
        return bool(measured and measured["gflops"])
    return bool(kernel["estimated_cycles"] and (data["machine"] or {}).get("ghz"))


def has_roofline(data, function):
    for i, step in enumerate(function["steps"]):
        kernel = data["kernels"].get(step["kernel"])
        if kernel and kernel["operations"] and kernel["bytes"]:
            if rate_is_known(data, function, i, kernel):
                return True
    return False


def sections_of(data, function):
    """Those that there is data for, in their order."""
    used = {step["kernel"] for step in function["steps"]} - {None}
    timed = any((data["kernels"].get(k) or {}).get("compile_ms") for k in used)
    present = {
        "graph": function["blocks"],
        "timeline": function["timeline"],
        "roofline": has_roofline(data, function),
        "arena": function["arena"] and function["arena"]["buffers"],
        "compile": data["compile"] or timed,
        "comparison": data["comparison"] and data["comparison"]["sides"],
        "kernels": used,
    }
    return [name for name, there in present.items() if there]


class PageTest(unittest.TestCase):
    pages = []
    screenshots = None

    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)

    def test_pages(self):
        for page in self.pages:
            for width, height in WIDTHS.items():
                with self.subTest(page=page.name, width=width):
                    self.check_page(page, width, height)

    def check_page(self, page, width, height):
        self.load(page, width, height)
        self.check_drawn(page)
        self.keep_screenshot(f"{page.stem}-{width}", width)
        for check in (self.check_function, self.check_choice_of_functions):
            check()
            self.assertEqual(self.console(), [])

    def load(self, page, width, height):
        size = {"width": width, "height": height}
        more = {"deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | more)
        self.browser.get("about:blank")
        for log in ("browser", "performance"):
            self.browser.get_log(log)
        self.browser.get(page.resolve().as_uri())
        text = self.run_script("return document.getElementById('data').textContent")
        self.data = json.loads(text)
        self.function = self.data["functions"][0]

    def check_drawn(self, page):
        self.browser.execute_async_script(WAIT)
        self.assertLess(self.busy_ms(), MOST_MS)
        self.assertEqual(self.console(), [])
        self.assertEqual(set(self.requests()), {page.resolve().as_uri()})

    def busy_ms(self):
        """How long the page has been at work."""
        metrics = self.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        values = {metric["name"]: metric["value"] for metric in metrics}
        return 1000 * values["TaskDuration"]

    def console(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def requests(self):
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith("data:"):
                    yield url

    def check_function(self):
        """What there is of the function that is shown."""
        self.browser.execute_async_script(COMPLETE)
        expected = sections_of(self.data, self.function)
        script = "return [...document.querySelectorAll('section')].map(s => s.id)"
        self.assertEqual(self.run_script(script), expected)
        links = self.browser.find_elements(By.CSS_SELECTOR, "#nav a")
        self.assertEqual(len(links), len(expected))
        self.check_layout()
        for name in expected:
            getattr(self, f"check_{name}", lambda: None)()

    def check_layout(self):
        self.assertEqual(self.run_script(LAYOUT), [])

    def check_graph(self):
        for side in ("ops", "steps"):
            rows = self.find(f".{side[:-1]}.row")
            self.assertEqual(len(rows), len(self.function[side]))
        self.check_op()
        self.check_step()
        self.check_keys()

    def check_op(self):
        """An op's details have the kernel that it went into."""
        for block in self.function["blocks"]:
            steps = [self.function["steps"][step] for step in block["steps"]]
            if block["ops"] and steps and steps[0]["kernel"]:
                self.row("ops", block["ops"][0]).click()
                self.assertIn(steps[0]["kernel"], self.details())
                self.check_layout()
                self.press(Keys.ESCAPE)
                self.assertTrue(self.details_are_closed())
                return

    def check_step(self):
        """A step's details have its IR, its op knows that it is selected."""
        for i, step in enumerate(self.function["steps"]):
            kernel = self.data["kernels"].get(step["kernel"])
            if kernel and kernel["ir"]:
                self.row("steps", i).click()
                (ir,) = self.find("#details pre.ir")
                self.assertEqual(ir.get_property("textContent"), kernel["ir"])
                self.find("#details .close")[0].click()
                self.assertTrue(self.details_are_closed())
                return

    def check_keys(self):
        side = "ops" if self.function["ops"] else "steps"
        order = [i for block in self.function["blocks"] for i in block[side]]
        self.run_script("arguments[0].focus()", self.row(side, order[0]))
        self.press(Keys.END)
        self.assertEqual(self.active(), self.row(side, order[-1]))
        self.press(Keys.HOME)
        if len(order) > 1:
            self.press(Keys.ARROW_DOWN)
        row = self.row(side, order[min(1, len(order) - 1)])
        self.assertEqual(self.active(), row)
        self.press(Keys.ENTER)
        self.assertEqual(row.get_attribute("aria-selected"), "true")
        self.assertEqual(self.active().get_attribute("id"), "details")
        self.press(Keys.ESCAPE)
        self.assertTrue(self.details_are_closed())
        self.assertEqual(self.active(), row)

    def check_timeline(self):
        self.check_mark("#timeline rect.mark")
        self.find("#timeline [aria-label='Zoom in']")[0].click()
        self.check_layout()

    def check_roofline(self):
        self.check_mark("#roofline circle.mark")

    def check_arena(self):
        self.check_mark("#arena rect.mark")

    def check_kernels(self):
        for head in self.find("#kernels thead button")[:2]:
            head.click()
            sort = "return arguments[0].parentElement.getAttribute('aria-sort')"
            self.assertIn(self.run_script(sort, head), ("ascending", "descending"))
        for more in self.find("#kernels .more"):
            more.click()
        first = self.find("#kernels tbody button")[0]
        self.run_script("arguments[0].scrollIntoView({block: 'center'})", first)
        first.click()
        self.assertFalse(self.details_are_closed())
        self.press(Keys.ESCAPE)

    def check_mark(self, selector):
        """What is selected in a picture is so in the graph, which shows it."""
        stop = self.find(f"{selector}[tabindex='0']")
        self.assertEqual(len(stop), 1)
        self.run_script("arguments[0].focus()", stop[0])
        self.press(Keys.ARROW_RIGHT)
        mark = self.active()
        self.press(Keys.ENTER)
        self.assertEqual(mark.get_attribute("aria-pressed"), "true")
        self.assertEqual(len(self.find(".step.selected")), 1)
        self.find("#details .content > p .link")[0].click()
        self.assertIn("selected", self.active().get_attribute("class"))
        self.press(Keys.ESCAPE)

    def check_choice_of_functions(self):
        for i, function in enumerate(self.data["functions"][1:], 1):
            self.find(".functions label")[i].click()
            self.function = function
            self.check_function()

    def keep_screenshot(self, name, width):
        if not self.screenshots:
            return
        height = self.run_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        options = {"captureBeyondViewport": True, "clip": clip}
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", options)
        (self.screenshots / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def row(self, side, index):
        order = [i for block in self.function["blocks"] for i in block[side]]
        script = "return document.querySelectorAll(arguments[0])[arguments[1]]"
        return self.run_script(script, f".{side[:-1]}.row", order.index(index))

    def active(self):
        return self.browser.switch_to.active_element

    def press(self, key):
        webdriver.ActionChains(self.browser, duration=0).send_keys(key).perform()

    def details(self):
        return self.find("#details")[0].get_property("textContent")

    def details_are_closed(self):
        return not self.find("#details")[0].is_displayed()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path, metavar="PAGE.html")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    PageTest.pages = options.pages
    PageTest.screenshots = options.screenshots
    unittest.main(argv=["page_test"])


if __name__ == "__main__":
    main()
