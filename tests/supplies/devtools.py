"""A real browser that is driven as by hand: Chromium over the DevTools protocol, through pipes."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time
from contextlib import contextmanager

from supplies.browser import FLAGS, chromium

SECONDS = 60.0


class Page:
    """One page of the browser; what it does is done as a user would, by clicks and keys."""

    def __init__(self, browser, session):
        self._browser, self._session = browser, session
        self.console = []

    def call(self, method, **parameters):
        return self._browser.call(method, session=self._session, **parameters)

    def run(self, script):
        """Evaluate JavaScript from outside, which no policy of the page forbids."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script, seconds=SECONDS):
        """Wait until a script is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := self.run(f"Boolean({script})"):
                    return found
            except (AssertionError, Refused):  # the page is being changed for another
                pass
            time.sleep(0.05)
        raise TimeoutError(f"never true: {script}\n{self.text()[:2000]}")

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def at(self, text):
        """Wait for a page whose heading says so."""
        heading = f"document.querySelector('h1')?.innerText.includes({json.dumps(text)})"
        self.until(f"document.readyState === 'complete' && {heading}")

    def text(self):
        return self.run("document.body.innerText")

    def click(self, name, kind="button, a"):
        """Click what is called so, by the mouse."""
        self.until("document.readyState === 'complete'")
        place = self.run(
            f"""(() => {{
              const found = [...document.querySelectorAll({json.dumps(kind)})].filter(
                item => item.textContent.trim() === {json.dumps(name)} && item.offsetParent);
              if (!found.length) return null;
              found[0].scrollIntoView({{block: 'center'}});
              const box = found[0].getBoundingClientRect();
              window.__left = true;
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        assert place, f"there is no {name!r} on\n{self.text()[:3000]}"
        for what in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=what, x=place[0], y=place[1], button="left", clickCount=1
            )

    def follow(self, name):
        """Click, and wait until another page is there."""
        self.click(name)
        self.until("window.__left === undefined && document.readyState === 'complete'")

    def fill(self, **fields):
        """Write into fields, by their labels' ids, with keys or by choosing."""
        for name, value in fields.items():
            self.put(name, value)

    def put(self, name, value):
        kind = self.run(f"document.getElementById({json.dumps(name)})?.tagName")
        assert kind, f"there is no field {name}"
        here = f"document.getElementById({json.dumps(name)})"
        if kind == "SELECT":
            done = self.run(
                f"{here}.value = {json.dumps(value)}; {here}.dispatchEvent(new Event('change')); {here}.value"
            )
            assert done == value, f"{name} cannot be {value!r}"
        else:
            self.run(f"{here}.focus(); {here}.select()")
            self.call("Input.insertText", text=value)

    def tick(self, name, value):
        done = self.run(
            f"""(() => {{ const box = [...document.getElementsByName({json.dumps(name)})]
              .find(item => item.value === {json.dumps(value)}); if (box && !box.checked) box.click();
              return Boolean(box); }})()"""
        )
        assert done, f"there is no {name} {value}"

    def picture(self, path, *, width=1280, height=900, dark=False, whole=False):
        """Photograph the page, as wide as a screen of that kind."""
        self.look(width=width, height=height, dark=dark)
        if whole:
            height = min(self.run("document.documentElement.scrollHeight"), 6000)
            self.look(width=width, height=height, dark=dark)
        found = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    def look(self, *, width, height=900, dark=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)


class Refused(Exception):  # noqa: N818 - an answer
    """The browser does not do it."""


class Browser:
    def __init__(self, process, to, back):
        self._process, self._to, self._back = process, to, back
        self._number, self._rest = 0, b""
        self._pages = {}

    def new_page(self):
        """Open a page that shares nothing with others, as a second browser would."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = self._next(end)
            if found.get("id") == self._number:
                if "error" in found:
                    raise Refused(found["error"])
                return found["result"]
            self._hear(found)
        raise TimeoutError(method)

    def _hear(self, event):
        page = self._pages.get(event.get("sessionId"))
        if page is None:
            return
        if event["method"] == "Log.entryAdded":
            page.console.append(event["params"]["entry"]["text"])
        if event["method"] in {"Runtime.exceptionThrown", "Runtime.consoleAPICalled"}:
            page.console.append(json.dumps(event["params"])[:500])

    def _next(self, end):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], max(end - time.monotonic(), 0))
            chunk = os.read(self._back, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser says nothing")
            self._rest += chunk
        line, self._rest = self._rest.split(b"\0", 1)
        return json.loads(line)


@contextmanager
def browsing():
    """A browser without a window, which knows nobody."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    def hand_over():
        os.dup2(theirs_in, 503)
        os.dup2(theirs_out, 504)
        os.dup2(503, 3)
        os.dup2(504, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [chromium(), *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=hand_over,  # noqa: PLW1509 - the protocol wants files 3 and 4
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(process, ours_out, ours_in)
        finally:
            process.terminate()
            process.wait(20)
            os.close(ours_out)
            os.close(ours_in)
