"""A page in headless Chromium, through the DevTools protocol over a pipe: no driver, no port, no packages.

    with Page("report.html", width=1280, height=900) as page:
        page.evaluate("document.title")
        page.mouse("mouseMoved", 300, 200)
        assert page.complaints == []
"""
import base64, json, os, shutil, subprocess, sys, tempfile, time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SKIP = 77  # ctest's exit code for "skipped"


def need_chromium():
    for program in PROGRAMS:
        if shutil.which(program):
            return shutil.which(program)
    print("skipped: there is no Chromium here; `tools/setup.sh browser` installs Debian's")
    sys.exit(SKIP)


class Page:
    def __init__(self, path, width=1280, height=900, dark=False, scale=1):
        self.address = "file://" + os.path.abspath(path)
        self.size = (width, height, scale)
        self.dark = dark
        self.complaints = []  # console errors, uncaught exceptions, refused requests
        self.requests = []
        self.next_id = 0
        self.buffer = b""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="plimsoll-chromium-")
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def hand_over():  # the browser reads commands from descriptor 3 and writes answers to 4
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen([
            need_chromium(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--user-data-dir=" + self.home,
            "about:blank"
        ], preexec_fn=hand_over, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, TMPDIR=self.home))  # where it leaves a folder of its own
        os.close(to_browser)
        os.close(from_browser)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.resize(*self.size)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])
        self.ask("Page.navigate", url=self.address)
        self.wait_for("document.readyState === 'complete'")
        return self

    def __exit__(self, *_):
        try:
            self.process.terminate()
            self.process.wait(20)
        finally:
            for end in (self.commands, self.answers):
                os.close(end)
            shutil.rmtree(self.home, ignore_errors=True)

    def resize(self, width, height, scale=1):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                 mobile=False)

    def ask(self, method, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            chunk = os.read(self.answers, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser has gone")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        about = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"].get("exception", {}).get("description")
                                   or about["exceptionDetails"]["text"])
        if message.get("method") == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(
                str(argument.get("value", argument.get("description"))) for argument in about["args"]))
        if message.get("method") == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        return message

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=60):
        until = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise RuntimeError(f"never came true: {expression}; the page complains: {self.complaints}")
            time.sleep(0.05)

    def settle(self):
        """Waits for two frames, after which all drawing is done."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def picture(self, path, whole=False):
        self.settle()
        data = self.ask(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole,
            **({
                "clip": {
                    "x": 0, "y": 0, "width": self.size[0],
                    "height": self.evaluate("document.documentElement.scrollHeight"), "scale": 1
                }
            } if whole else {}))["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])
