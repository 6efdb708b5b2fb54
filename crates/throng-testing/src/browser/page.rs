//! One page, as a person sees and uses it, and everything that goes wrong on it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Browser;
use super::connection::DEADLINE;

/// A tab of the browser. When it is dropped there must be nothing in `problems`.
pub struct Page<'a> {
    browser: &'a Browser,
    session: String,
    origin: RefCell<String>,
    problems: RefCell<Vec<String>>,
    console: RefCell<Vec<String>>,
    loaded: Cell<bool>,
}

/// A file that a page gave to download.
#[derive(Debug)]
pub struct Download {
    /// The name that the page gave it.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl<'a> Page<'a> {
    pub(super) fn new(browser: &'a Browser) -> Self {
        let target = browser.call("", "Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session =
            browser.call("", "Target.attachToTarget", &attach)["sessionId"].as_str().unwrap().to_owned();
        let page = Self {
            browser,
            session,
            origin: RefCell::default(),
            problems: RefCell::default(),
            console: RefCell::default(),
            loaded: Cell::new(false),
        };
        for domain in ["Page", "Runtime", "Network", "Log", "DOM"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.viewport(1280, 800);
        page
    }

    /// Opens an address and waits until it is loaded. Requests to any other origin are problems from now on.
    pub fn open(&self, url: &str) {
        self.collect();
        *self.origin.borrow_mut() = origin(url);
        self.loaded.set(false);
        let navigated = self.call("Page.navigate", &json!({ "url": url }));
        assert!(navigated.get("errorText").is_none(), "{url} cannot be opened: {}", navigated["errorText"]);
        if navigated.get("loaderId").is_some() {
            self.wait_until("the page to load", || self.loaded.get());
        }
    }

    /// Loads the page again.
    pub fn reload(&self) {
        self.collect();
        self.loaded.set(false);
        self.call("Page.reload", &json!({}));
        self.wait_until("the page to load", || self.loaded.get());
    }

    /// What an expression of JavaScript gives, or what its promise does.
    pub fn eval(&self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| self.fail(&format!("{expression}: {error}")))
    }

    /// Waits until an expression is true.
    pub fn wait(&self, expression: &str) {
        // While a page loads there may be nothing to ask.
        self.wait_until(expression, || {
            self.try_eval(&format!("!!({expression})")).is_ok_and(|value| value == json!(true))
        });
    }

    /// Waits until something that a selector finds can be seen.
    pub fn wait_for(&self, selector: &str) {
        self.wait(&format!("document.querySelector({0})?.checkVisibility()", quoted(selector)));
    }

    /// Waits until the text of what a selector finds has a part.
    pub fn wait_for_text(&self, selector: &str, part: &str) {
        let (selector, part) = (quoted(selector), quoted(part));
        self.wait(&format!("document.querySelector({selector})?.innerText.includes({part})"));
    }

    /// The text that can be seen of what a selector finds first.
    pub fn text(&self, selector: &str) -> String {
        let found = self.eval(&format!("document.querySelector({})?.innerText ?? null", quoted(selector)));
        let Some(text) = found.as_str() else { self.fail(&format!("there is no {selector}")) };
        text.trim().to_owned()
    }

    /// The texts of all that a selector finds.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        let all =
            format!("[...document.querySelectorAll({})].map(one => one.innerText.trim())", quoted(selector));
        serde_json::from_value(self.eval(&all)).unwrap()
    }

    /// The number that an element has in `data-value`: the one that is shown, before it is rounded.
    pub fn number(&self, selector: &str) -> f64 {
        let found =
            self.eval(&format!("document.querySelector({})?.dataset.value ?? null", quoted(selector)));
        let number = found.as_str().and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| self.fail(&format!("{selector} has no number in data-value: {found}")))
    }

    /// Clicks into the middle of what a selector finds, with a mouse.
    pub fn click(&self, selector: &str) {
        let middle = self.eval(&format!(
            "(() => {{ const one = document.querySelector({}); if (!one) return null;
                one.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const box = one.getBoundingClientRect();
                const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                const hit = document.elementFromPoint(x, y);
                return [x, y, !!hit && (one.contains(hit) || hit.contains(one))]; }})()",
            quoted(selector)
        ));
        if middle[2] != json!(true) {
            self.fail(&format!("{selector} cannot be clicked: {middle}"));
        }
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let (button, count) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
            let event = json!({ "type": kind, "x": middle[0], "y": middle[1], "button": button, "clickCount": count });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Presses a key: a character, or Tab, Enter, Escape, Home, End, PageUp, PageDown, ArrowLeft and so on; Shift+Tab too.
    pub fn press(&self, key: &str) {
        let (modifiers, key) = key.strip_prefix("Shift+").map_or((0, key), |key| (8, key));
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "PageUp" => (33, ""),
            "PageDown" => (34, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            character => (u32::from(character.as_bytes()[0].to_ascii_uppercase()), character),
        };
        let name = if key == " " { "Space" } else { key };
        let mut event = json!({
            "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" },
            "key": key, "code": name, "windowsVirtualKeyCode": code, "modifiers": modifiers,
        });
        if !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &event);
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", &event);
    }

    /// Types a text where the focus is.
    pub fn type_text(&self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Sets a field, a slider or a list to a value, as a person's input does it.
    pub fn set(&self, selector: &str, value: &str) {
        let found = self.eval(&format!(
            "(() => {{ const one = document.querySelector({}); if (!one) return false; one.value = {};
                for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind, {{ bubbles: true }}));
                return true; }})()",
            quoted(selector),
            quoted(value)
        ));
        assert!(found == json!(true), "there is no {selector}");
    }

    /// Chooses a file in an `<input type=file>`.
    pub fn choose_file(&self, selector: &str, file: &Path) {
        let document = self.call("DOM.getDocument", &json!({}));
        let query = json!({ "nodeId": document["root"]["nodeId"], "selector": selector });
        let node = self.call("DOM.querySelector", &query)["nodeId"].clone();
        self.call("DOM.setFileInputFiles", &json!({ "nodeId": node, "files": [file] }));
    }

    /// Sets the size of the window, in points of a desktop's screen.
    pub fn viewport(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Shows the page as a phone does. A page that has to be moved sideways there is a problem.
    pub fn phone(&self) {
        let metrics = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.wait("innerWidth > 0");
        let widths = self.eval("[document.documentElement.scrollWidth, 390]");
        if widths[0].as_u64() > widths[1].as_u64() {
            self.problems.borrow_mut().push(format!("wider than a phone: {widths}"));
        }
    }

    /// What the person prefers: "light" or "dark".
    pub fn color_scheme(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Texts that are hard to read: their contrast is below what WCAG 2 asks for (AA: 4.5, of large letters 3).
    pub fn faint_texts(&self) -> Vec<String> {
        let found = self.eval(
            "(() => {
                const parts = color => color.match(/[\\d.]+/g).map(Number);
                const light = color => parts(color).slice(0, 3).map(part => part / 255)
                    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
                    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
                const ground = one => {
                    for (; one; one = one.parentElement) {
                        const color = getComputedStyle(one).backgroundColor;
                        if ((parts(color)[3] ?? 1) > 0) return color;
                    }
                    return 'rgb(255, 255, 255)';
                };
                const faint = one => {
                    const style = getComputedStyle(one);
                    const text = one instanceof SVGElement ? style.fill : style.color;
                    const [a, b] = [light(text), light(ground(one))].sort((a, b) => b - a);
                    const size = parseFloat(style.fontSize);
                    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
                    const contrast = (a + 0.05) / (b + 0.05);
                    return contrast < (large ? 3 : 4.5) && `${one.textContent.trim().slice(0, 40)}: ${contrast.toFixed(2)}`;
                };
                const own = one => [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
                return [...document.body.querySelectorAll('*')]
                    .filter(one => own(one) && one.checkVisibility() && !one.closest('noscript, option, :disabled'))
                    .map(faint).filter(Boolean);
            })()",
        );
        serde_json::from_value(found).unwrap()
    }

    /// What has the focus: its tag, and after # its id; "body" for nothing.
    pub fn focused(&self) -> String {
        let one = "document.activeElement.localName + (document.activeElement.id && '#' + document.activeElement.id)";
        self.eval(one).as_str().unwrap().to_owned()
    }

    /// Goes through a page that was just opened with the Tab key, and fails if something that can be used is not reached or
    /// does not show that it is. Returns what was reached, in order. Of radio buttons with one name and of a list of tabs one
    /// is enough: arrows reach the others.
    pub fn tab_through(&self) -> Vec<String> {
        self.eval(
            "window.tabbed = new Set(); window.unmarked = [];
             window.nameOf = one => one.localName + (one.id ? '#' + one.id : ' ' + one.innerText.trim().slice(0, 40))",
        );
        let mut reached = Vec::new();
        loop {
            self.press("Tab");
            let next = self.eval(
                "(() => { const one = document.activeElement;
                    if (one === document.body || window.tabbed.has(one)) return null;
                    window.tabbed.add(one);
                    const style = getComputedStyle(one);
                    if (style.outlineStyle === 'none' && style.boxShadow === 'none') window.unmarked.push(nameOf(one));
                    return nameOf(one); })()",
            );
            let Some(next) = next.as_str() else { break };
            reached.push(next.to_owned());
        }
        let missed = self.eval(
            "[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex=\"0\"]')]
                .filter(one => one.checkVisibility() && !one.disabled && one.type !== 'hidden' && !window.tabbed.has(one))
                .filter(one => one.role !== 'tab' || ![...window.tabbed].some(other => other.parentNode === one.parentNode))
                .filter(one => one.type !== 'radio' || ![...window.tabbed].some(other => other.name === one.name))
                .map(nameOf)",
        );
        assert!(missed == json!([]), "the Tab key does not reach {missed}, only {reached:?}");
        let unmarked = self.eval("window.unmarked");
        assert!(unmarked == json!([]), "nothing shows that the focus is on {unmarked}");
        reached
    }

    /// Does something that gives a file, and waits for the file.
    pub fn download(&self, click: impl FnOnce(&Self)) -> Download {
        let mut connection = self.browser.connection.borrow_mut();
        while connection.event("").is_some() {}
        drop(connection);
        click(self);
        let until = Instant::now() + DEADLINE;
        let (mut name, mut guid) = (String::new(), String::new());
        loop {
            let event = self.browser.connection.borrow_mut().wait_for_event("", until, "a download");
            let params = &event["params"];
            match event["method"].as_str() {
                Some("Browser.downloadWillBegin") => {
                    name = params["suggestedFilename"].as_str().unwrap().to_owned();
                    guid = params["guid"].as_str().unwrap().to_owned();
                }
                Some("Browser.downloadProgress") if params["guid"] == json!(guid) => {
                    match params["state"].as_str() {
                        Some("completed") => break,
                        Some("canceled") => self.fail(&format!("the download of {name} was broken off")),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Download { name, bytes: std::fs::read(self.browser.downloads().join(guid)).unwrap() }
    }

    /// Keeps a picture of the whole page as `tmp/screenshots/NAME.png` of cargo's target directory, and says where.
    pub fn screenshot(&self, name: &str) -> PathBuf {
        let folder = temporary_files().join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        // Colours that are on their way are no picture of the page.
        self.eval(
            "Promise.allSettled(document.getAnimations().filter(one => one instanceof CSSTransition)
                .map(one => one.finished)).then(() => 0)",
        );
        let shot =
            self.call("Page.captureScreenshot", &json!({ "format": "png", "captureBeyondViewport": true }));
        let path = folder.join(format!("{name}.png"));
        std::fs::write(&path, STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()).unwrap();
        path
    }

    /// What went wrong so far, which is forgotten: errors in the console, exceptions that nobody caught, requests that failed,
    /// and requests to another origin.
    pub fn take_problems(&self) -> Vec<String> {
        self.collect();
        self.problems.take()
    }

    /// Waits for a problem that a test provokes, and forgets it with all others so far.
    pub fn wait_for_problem(&self, part: &str) {
        self.wait_until(&format!("the problem {part:?}"), || {
            self.problems.borrow().iter().any(|problem| problem.contains(part))
        });
        self.take_problems();
    }

    /// Ends a test with what there is to see on the page.
    pub fn fail(&self, what: &str) -> ! {
        self.collect();
        let text = self.try_eval("document.body.innerText").unwrap_or_default();
        panic!(
            "{what}\n--- the page\n{}\n--- its console\n{}\n--- problems\n{}",
            text.as_str().unwrap_or_default(),
            self.console.borrow().join("\n"),
            self.problems.borrow().join("\n")
        )
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        self.browser.call(&self.session, method, params)
    }

    fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut connection = self.browser.connection.borrow_mut();
        let mut answer = connection.call(&self.session, "Runtime.evaluate", &params)?;
        match answer.get("exceptionDetails") {
            Some(exception) => Err(description(exception)),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    fn wait_until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let until = Instant::now() + DEADLINE;
        loop {
            self.collect();
            if done() {
                return;
            }
            if Instant::now() >= until {
                self.fail(&format!("waited in vain for {what}"));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Looks at all events that have come.
    fn collect(&self) {
        loop {
            let event = self.browser.connection.borrow_mut().event(&self.session);
            let Some(event) = event else { return };
            let problem = self.problem(event["method"].as_str().unwrap_or_default(), &event["params"]);
            self.problems.borrow_mut().extend(problem);
        }
    }

    fn problem(&self, method: &str, params: &Value) -> Option<String> {
        match method {
            "Page.loadEventFired" => {
                self.loaded.set(true);
                None
            }
            "Runtime.exceptionThrown" => {
                Some(format!("not caught: {}", description(&params["exceptionDetails"])))
            }
            "Runtime.consoleAPICalled" => {
                let said =
                    params["args"].as_array().into_iter().flatten().map(shown).collect::<Vec<_>>().join(" ");
                let line = format!("console {}: {said}", params["type"].as_str()?);
                self.console.borrow_mut().push(line.clone());
                matches!(params["type"].as_str()?, "error" | "assert").then_some(line)
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                let line = format!("{}: {} {}", entry["level"], shown(&entry["text"]), shown(&entry["url"]));
                self.console.borrow_mut().push(line.clone());
                (entry["level"] == "error").then_some(line)
            }
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str()?;
                let local = ["data:", "blob:", "about:"].iter().any(|scheme| url.starts_with(scheme));
                (!local && origin(url) != *self.origin.borrow())
                    .then(|| format!("request to another origin: {url}"))
            }
            "Network.responseReceived" => {
                let (status, url) = (params["response"]["status"].as_u64()?, &params["response"]["url"]);
                (status >= 400).then(|| format!("request failed: {status} {}", shown(url)))
            }
            "Network.loadingFailed" => (params["canceled"] != json!(true))
                .then(|| format!("request failed: {}", shown(&params["errorText"]))),
            _ => None,
        }
    }
}

/// A page must end without problems.
impl Drop for Page<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // An answer comes after everything that happened before it.
            let _ = self.try_eval("0");
            let problems = self.take_problems();
            assert!(problems.is_empty(), "the page ends with problems:\n{}", problems.join("\n"));
        }
    }
}

/// `tmp` of cargo's target directory, which this test is two directories below: the library does not know it.
fn temporary_files() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().join("tmp")
}

/// Scheme, host and port.
fn origin(url: &str) -> String {
    url.split('/').take(3).collect::<Vec<_>>().join("/")
}

fn description(exception: &Value) -> String {
    let thrown = &exception["exception"];
    shown(thrown.get("description").or(thrown.get("value")).unwrap_or(&exception["text"]))
}

fn shown(value: &Value) -> String {
    let inner = value.get("value").or(value.get("description")).unwrap_or(value);
    inner.as_str().map_or_else(|| inner.to_string(), str::to_owned)
}

/// A text as JavaScript writes it.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

const PAUSE: Duration = Duration::from_millis(25);
