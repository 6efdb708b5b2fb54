//! The browser that pages are tested in, on a page that has everything wrong which a page can have.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use throng_testing::browser::Browser;
use throng_testing::browser::chromium::found_or_installed;

/// Serves one page at / and a file at /file, on a port of its own, until the test ends; returns its address.
fn serve(html: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
            let request = head.next().unwrap_or_default();
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let (status, kind, body) = match request.split(' ').nth(1) {
                Some("/") => ("200 OK", "text/html; charset=utf-8", html),
                Some("/file") => ("200 OK", "text/csv\r\nContent-Disposition: attachment", "a,b\n1,2\n"),
                Some("/favicon.ico") => ("204 No Content", "image/png", ""),
                _ => ("404 Not Found", "text/plain", "nothing"),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n");
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes());
        }
    });
    address
}

const PAGE: &str = r#"<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<title>A page</title>
<style>@media (prefers-color-scheme: dark) { body { background: black } } :focus { outline: 2px solid blue }</style>
<h1>Counting</h1>
<p>So far <b id="count" data-value="0.5">0</b></p>
<button id="more">More</button>
<input id="name">
<input id="slider" type="range" min="0" max="10" value="5">
<input id="file" type="file">
<a id="link" href="file" download="table.csv">Table</a>
<output id="said"></output>
<script>
const find = id => document.getElementById(id);
find('more').onclick = () => { find('count').dataset.value = find('count').textContent = +find('count').textContent + 1; };
find('name').oninput = () => { find('said').textContent = 'Hello ' + find('name').value; };
find('file').onchange = async () => { find('said').textContent = await find('file').files[0].text(); };
setTimeout(() => { document.title = 'later'; }, 50);
</script>"#;

#[test]
fn a_page_is_read_and_used_as_a_person_does() {
    let browser = Browser::start();
    let page = browser.page(&serve(PAGE));
    assert_eq!(
        (page.text("h1"), page.text("#count"), page.number("#count")),
        ("Counting".into(), "0".into(), 0.5)
    );
    assert_eq!(page.eval("Promise.resolve({ a: [1, null] })"), json!({ "a": [1, null] }));
    page.wait("document.title === 'later'");
    page.click("#more");
    page.wait_for_text("#count", "1");
    // The same with keys: the focus is where the mouse was.
    page.press("Enter");
    page.press(" ");
    page.wait_for_text("#count", "3");
    assert_eq!((page.number("#count"), page.focused()), (3.0, "button#more".into()));
    page.press("Tab");
    page.type_text("Zoë");
    page.press("!");
    page.wait_for_text("#said", "Hello Zoë!");
    page.press("Tab");
    page.press("ArrowRight");
    assert_eq!(page.eval("find('slider').value"), json!("6"));
    page.press("Shift+Tab");
    assert_eq!(page.focused(), "input#name");
    page.set("#slider", "2");
    assert_eq!(page.eval("find('slider').value"), json!("2"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "from a file").unwrap();
    page.choose_file("#file", &folder.path().join("a.txt"));
    page.wait_for_text("#said", "from a file");
    let table = page.download(|page| page.click("#link"));
    assert_eq!((table.name.as_str(), table.bytes.as_slice()), ("table.csv", &b"a,b\n1,2\n"[..]));
    page.reload();
    assert_eq!(page.text("#count"), "0");
    assert_eq!(
        page.tab_through(),
        ["button#more", "input#name", "input#slider", "input#file", "a#link"].map(str::to_owned)
    );
}

#[test]
fn a_page_is_seen_on_a_phone_and_in_the_dark() {
    let browser = Browser::start();
    let page = browser.page(&serve(PAGE));
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(page.eval(ground), json!("rgba(0, 0, 0, 0)"));
    page.color_scheme("dark");
    assert_eq!(page.eval(ground), json!("rgb(0, 0, 0)"));
    page.phone();
    assert_eq!(page.eval("[innerWidth, devicePixelRatio]"), json!([390, 2]));
    let picture = fs::File::open(page.screenshot("browser-phone-dark")).unwrap();
    let picture = png::Decoder::new(std::io::BufReader::new(picture)).read_info().unwrap();
    assert_eq!(picture.info().width, 780);
    // What does not fit is told.
    page.eval("document.body.style.width = '1000px'");
    page.phone();
    assert!(page.take_problems()[0].starts_with("wider than a phone"));
}

#[test]
fn nothing_that_goes_wrong_on_a_page_is_overlooked() {
    let browser = Browser::start();
    let address = serve(PAGE);
    let page = browser.page(&address);
    assert_eq!(page.take_problems(), Vec::<String>::new());
    for (action, problem) in [
        ("console.error('one', 2)", "console error: one 2"),
        ("void setTimeout(() => { throw new Error('three') })", "not caught: Error: three"),
        ("void Promise.reject(new Error('four'))", "not caught: Error: four"),
        ("fetch('missing').then(() => 0)", "request failed: 404"),
        (
            "fetch('http://127.0.0.1:1/foreign').catch(() => 0)",
            "request to another origin: http://127.0.0.1:1/foreign",
        ),
        (
            "void (new Image().src = 'http://foreign.test/pixel.png')",
            "request to another origin: http://foreign.test/",
        ),
        (
            "void document.head.append(Object.assign(document.createElement('meta'),
                { httpEquiv: 'Content-Security-Policy', content: \"img-src 'none'\" }),
                Object.assign(new Image(), { src: 'x.png' }))",
            "Content Security Policy",
        ),
    ] {
        page.eval(action);
        page.wait_for_problem(problem);
    }
    // A page that is left with one fails, and so does one that waits in vain: with what was to be seen.
    page.eval("console.error('left behind')");
    let failed = catch_unwind(AssertUnwindSafe(|| drop(page))).unwrap_err();
    assert!(failed.downcast_ref::<String>().unwrap().contains("left behind"));
    let page = browser.page(&address);
    page.eval("console.log('a hint')");
    let failed = catch_unwind(AssertUnwindSafe(|| page.text("#nowhere"))).unwrap_err();
    let failed = failed.downcast_ref::<String>().unwrap();
    assert!(
        ["there is no #nowhere", "Counting", "a hint"].iter().all(|part| failed.contains(part)),
        "{failed}"
    );
    // Keys do not reach everything, and nobody sees where the focus is.
    page.eval("find('more').tabIndex = -1");
    let failed = catch_unwind(AssertUnwindSafe(|| page.tab_through())).unwrap_err();
    assert!(failed.downcast_ref::<String>().unwrap().contains("does not reach"));
    page.eval("find('more').tabIndex = 0, find('more').style.outline = 'none', 0");
    page.reload();
    page.eval("find('more').style.outline = 'none', 0");
    let failed = catch_unwind(AssertUnwindSafe(|| page.tab_through())).unwrap_err();
    assert!(failed.downcast_ref::<String>().unwrap().contains("nothing shows that the focus is on"));
}

/// With an `apt-get` that is a script: where a browser is missing it is installed, and where that fails it is said what to do.
#[test]
fn where_no_browser_is_one_is_installed_or_it_is_said_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().as_os_str();
    let install = |script: &str| {
        let file = folder.path().join("apt-get");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
        found_or_installed(None, path, folder.path())
    };
    let error = found_or_installed(None, path, folder.path()).unwrap_err();
    assert!(error.contains("THRONG_CHROMIUM") && error.contains("apt-get install"), "{error}");
    let error = install("echo no network >&2; exit 100").unwrap_err();
    assert!(error.contains("apt-get update: no network") && error.contains("THRONG_CHROMIUM"), "{error}");
    let error = install("exit 0").unwrap_err();
    assert!(error.contains("none on the search path"), "{error}");
    let chromium = folder.path().join("chromium");
    let calls = folder.path().join("calls");
    let (made, log) = (chromium.display(), calls.display());
    let script = format!("echo \"$@\" >> {log}; [ $1 = update ] || echo > {made}");
    assert_eq!(install(&script).unwrap(), chromium);
    assert_eq!(install(&script).unwrap(), chromium);
    let calls = fs::read_to_string(&calls).unwrap();
    assert_eq!(
        calls, "update\n-o DPkg::Lock::Timeout=600 install -y --no-install-recommends chromium\n",
        "once"
    );
    assert_eq!(found_or_installed(Some(chromium.as_os_str()), "".as_ref(), folder.path()).unwrap(), chromium);
    let error = found_or_installed(Some("/nowhere/chromium".as_ref()), path, folder.path()).unwrap_err();
    assert!(error.contains("THRONG_CHROMIUM names /nowhere/chromium"), "{error}");
}
