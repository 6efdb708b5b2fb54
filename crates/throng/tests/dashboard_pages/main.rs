//! The operator's dashboard in a real browser: every page says what it should, with the numbers of the API, and nothing goes
//! wrong on it. A page that is dropped with an error in its console fails its test (throng-testing/src/browser/page.rs).

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod controls;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use throng_analyze::Picture;
use throng_plot::Png;
use throng_testing::analyst::{Analyst, WIDTH};
use throng_testing::browser::{Browser, Page};
use throng_testing::program::Program;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// A page of the dashboard, for somebody who has the token.
fn open<'a>(browser: &'a Browser, analyst: &Analyst, path: &str) -> Page<'a> {
    let page = browser.page(&format!("{}{path}#token={}", analyst.url(), analyst.token()));
    page.wait_for("#page[data-ready=true]");
    page
}

/// Pictures of a page as it is and on a phone, both in the light and in the dark. All of its text can be read.
fn pictures(page: &Page, name: &str) {
    page.screenshot(name);
    assert_eq!(page.faint_texts(), Vec::<String>::new(), "{name}");
    page.color_scheme("dark");
    page.screenshot(&format!("{name}-dark"));
    assert_eq!(page.faint_texts(), Vec::<String>::new(), "{name}, in the dark");
    page.color_scheme("light");
    page.phone();
    page.screenshot(&format!("{name}-phone"));
    page.color_scheme("dark");
    page.screenshot(&format!("{name}-phone-dark"));
    page.color_scheme("light");
    page.viewport(1280, 800);
}

/// On a phone no table has to be pushed to see a cell of it, and no number such as 1e-6 is broken in two.
fn nothing_is_out_of_sight(page: &Page) {
    page.phone();
    let pushed = page.eval(
        "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)",
    );
    assert_eq!(pushed, json!([]));
    let broken = page.eval(
        "(() => { const all = [], texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) for (const found of texts.currentNode.data.matchAll(/\\d[\\d.]*e-\\d+/g)) {
                const range = document.createRange();
                range.setStart(texts.currentNode, found.index);
                range.setEnd(texts.currentNode, found.index + found[0].length);
                if (range.getClientRects().length > 1) all.push(texts.currentNode.data);
            } return all })()",
    );
    assert_eq!(broken, json!([]));
    page.viewport(1280, 800);
}

/// A number of the page is the API's.
fn assert_number(page: &Page, selector: &str, api: &Value) {
    assert_eq!(page.number(selector), api.as_f64().unwrap(), "{selector}");
}

/// And so is what can be read, to as many digits as it is shown with.
fn assert_shown(page: &Page, selector: &str, api: &Value) {
    assert_number(page, selector, api);
    let text = page.text(selector);
    let number = text.chars().skip_while(|letter| !letter.is_ascii_digit());
    let number: String =
        number.take_while(|letter| letter.is_ascii_digit() || ".,".contains(*letter)).collect();
    let number = number.replace(',', "");
    let places = number.split_once('.').map_or(0, |(_, places)| places.len());
    let off = number.parse::<f64>().unwrap_or(f64::NAN) - api.as_f64().unwrap();
    assert!(off.abs() < 10f64.powi(-(places as i32)), "{selector} says {text:?} for {api}");
}

/// Has requests of a page whose address has this part answered by a script, which has `real()` for the true answer.
fn intercept(page: &Page, part: &str, script: &str) {
    page.eval(&format!(
        "(() => {{ const fetch = window.fetch; window.fetch = async (url, options) => {{
            const real = () => fetch(url, options);
            if (!String(url).includes('{part}')) return real();
            {script} }} }})()"
    ));
}

#[test]
fn every_page_shows_its_text_and_a_number_of_the_api() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();

    let page = open(&browser, &analyst, "/");
    page.wait_for_text("main", "Which pixel do you hold?");
    let survey = &analyst.json("/api/surveys")["surveys"][0];
    assert!(page.text("main").contains("drawing") && page.texts(".badge").contains(&"released".to_owned()));
    let planned = survey["respondents_min"].as_u64().unwrap();
    assert_eq!(planned, 2900);
    let id = |name: &str| format!("#{name}-{:.8}", analyst.hash());
    assert_shown(&page, &id("respondents-min"), &survey["respondents_min"]);
    // A promise about releases is beside the one that holds whatever fails.
    assert_shown(&page, &id("claim"), &survey["epsilon_central"]);
    assert_shown(&page, &id("floor"), &survey["epsilon_local"]);
    let promise = page.text(&format!("dd:has({})", id("claim")));
    assert!(promise.contains("whatever fails") && promise.contains("epsilon_backstop"), "{promise}");
    // Nobody listens where the hops are said to be: the last of each instance is missed, the others are not needed.
    for (hop, says) in [("li:first-child", "not reached"), ("li:last-child", "does not answer")] {
        page.wait_for_text(&format!("{} .hops > {hop}", id("instances")), says);
    }
    pictures(&page, "dashboard-surveys");
    nothing_is_out_of_sight(&page);
    // An analyzer that is away for a while is asked again, and the page stays.
    intercept(&page, "/api/surveys", "if (window.back) return real(); throw new TypeError('no network');");
    page.wait_for_text("#unreached", "asked again");
    assert!(page.text("main").contains("Which pixel do you hold?"));
    page.eval("window.back = true");
    page.wait("!document.querySelector('#unreached')");
    assert!(page.text("main").contains("Which pixel do you hold?"));

    let page = open(&browser, &analyst, "/releases");
    let listed = &analyst.json("/api/releases")["releases"][0];
    assert_eq!(page.text("h1"), "Releases");
    assert_shown(&page, "#respondents-0", &listed["respondents"]);
    assert_shown(&page, "#epsilon-0", &listed["epsilon_central"]);
    assert!(page.text("#releases").contains("whatever fails, in one epoch, "));
    pictures(&page, "dashboard-releases");
    nothing_is_out_of_sight(&page);
    page.click("#release-0");
    page.wait_for_text("h1#name", "drawing");

    let page = open(&browser, &analyst, "/guarantees");
    let guarantee = analyst.json(&format!("/api/surveys/{}/guarantee", analyst.hash()));
    page.wait_for("#answer[data-ready=true]");
    for name in ["local", "fragment", "central"] {
        assert_shown(&page, &format!("#epsilon-{name}"), &guarantee[format!("epsilon_{name}")]);
    }
    assert!(page.text("#bound-words").starts_with("Computed for exactly the coins"));
    let words = page.text("#local-words");
    assert!(words.contains("in one epoch, and over all while an answer stays the same"), "{words}");
    pictures(&page, "dashboard-guarantees");
    nothing_is_out_of_sight(&page);

    let page = open(&browser, &analyst, "/ledger");
    let population = &analyst.json("/api/ledger")["populations"][0];
    page.wait_for_text("#population-0", "artists");
    assert_shown(&page, "#spent-0", &population["epsilon_spent"]);
    assert_shown(&page, "#left-0", &population["epsilon_left"]);
    assert_shown(&page, "#ledger-0 td[data-value]", &population["releases"][0]["epsilon_alone"]);
    pictures(&page, "dashboard-ledger");
    nothing_is_out_of_sight(&page);
}

#[test]
fn a_release_is_seen_in_four_ways_and_kept() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();
    let path = format!("/release?survey={}&label=0&epoch={}", analyst.hash(), analyst.epoch);
    let page = open(&browser, &analyst, &path);
    let release = &analyst.json(&analyst.release_path())["release"];
    page.wait_for_text("#promises", "What it promises");
    for (figure, name) in [
        ("significant", "significant"),
        ("respondents", "respondents"),
        ("epsilon-central", "epsilon_central"),
        ("epsilon-local", "epsilon_local"),
    ] {
        assert_shown(&page, &format!("#{figure}"), &release[name]);
    }

    page.click("#tab-bars");
    page.wait("document.querySelector('#view[data-view=bars] #bars [data-value]')");
    assert_number(&page, "#bars [data-value]", &release["top"][0]["estimate"]);
    pictures(&page, "dashboard-release-bars");
    // An arrow goes on to the next way.
    page.press("ArrowRight");
    page.wait_for("#view:not([data-view=bars]):not([data-view=''])");

    page.click("#tab-ranks");
    page.wait_for("#view[data-view=ranks] #ranks");
    let ranks = analyst.json(&format!("{}/ranks", analyst.release_path()));
    assert_eq!(page.number("#ranks"), ranks["points"].as_array().unwrap().len() as f64);
    pictures(&page, "dashboard-release-ranks");

    page.click("#tab-picture");
    page.wait_for("#view[data-view=picture] #picture");
    assert_eq!(page.eval("document.querySelector('#picture').dataset.value"), json!("16x16"));
    // The middle of the cross is green, and a corner is gray: signal and noise at a glance.
    let color = |x: u32, y: u32| -> [u64; 3] {
        let pixel = page.eval(&format!(
            "(() => {{ const canvas = document.querySelector('#picture'); const side = canvas.width / {WIDTH};
                const at = value => Math.floor((value + 0.5) * side);
                return [...canvas.getContext('2d').getImageData(at({x}), at({y}), 1, 1).data].slice(0, 3) }})()"
        ));
        serde_json::from_value(pixel).unwrap()
    };
    let ([red, green, _], [gray, also, _]) = (color(3, 7), color(0, 0));
    assert!(green > red + 20, "the cross: {red} {green}");
    assert!(gray.abs_diff(also) < 12, "a corner: {gray} {also}");
    pictures(&page, "dashboard-release-picture");

    page.click("#tab-table");
    page.wait_for("#view[data-view=table] #estimates");
    assert_eq!(page.number("#found"), 256.0);
    let table = analyst.json(&format!("{}/estimates?limit=1", analyst.release_path()));
    assert_shown(&page, "#estimates td[data-value]", &table["lines"][0]["estimate"]);
    page.set("#search", "25");
    let found = analyst.json(&format!("{}/estimates?search=25", analyst.release_path()));
    page.wait(&format!("document.querySelector('#found').dataset.value === '{}'", found["found"]));
    assert_eq!(page.texts("#estimates tbody tr").len() as u64, found["found"].as_u64().unwrap());
    pictures(&page, "dashboard-release-table");
    nothing_is_out_of_sight(&page);
    // Between two answers delta is larger, too.
    let [epsilon, delta] = ["epsilon_central", "delta"].map(|name| release[name].as_f64().unwrap());
    let promise = page.text("section[aria-labelledby=promises] p");
    let said = promise.rsplit("delta of at most ").next().unwrap().trim_end_matches('.');
    let (said, least): (f64, f64) = (said.parse().unwrap(), delta * (1.0 + epsilon.exp()));
    assert!(said >= least && said < 1.1 * least, "{promise}");

    // What is kept is what the API gives.
    for file in ["estimates.csv", "estimates.json", "release.json", "ranks.svg", "ranks.png", "picture.png"] {
        let kept = page.download(|page| page.click(&format!("#download-{}", file.replace('.', "-"))));
        let given = analyst.get(&format!("{}/files/{file}", analyst.release_path()));
        let called = format!("drawing-{:.8}-epoch-{}-{file}", analyst.hash(), analyst.epoch);
        assert_eq!(kept.name, called);
        assert!(kept.bytes == given.body && !kept.bytes.is_empty(), "{file}");
        if file.ends_with(".png") {
            assert!(Picture::from_png(&kept.bytes).unwrap().width() >= 600, "{file}");
        }
    }
}

/// What fails is said where it was asked for, and the rest of the page stays; of two answers the later question's counts.
#[test]
fn a_part_that_fails_leaves_the_rest_of_the_page() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();
    let path = format!("/release?survey={}&label=0&epoch={}", analyst.hash(), analyst.epoch);
    let page = open(&browser, &analyst, &path);
    // No row of 7 pixels divides 256 values.
    page.click("#tab-picture");
    page.wait_for("#view[data-view=picture] #width");
    page.set("#width", "7");
    page.wait_for_text("#view .message", "no rows of 7");
    page.wait_for_problem("400");
    page.click("#download-picture-png");
    page.wait_for_text("#keep-said", "no rows of 7");
    page.wait_for_problem("400");
    page.screenshot("dashboard-release-no-picture");
    assert!(page.text("h1#name").contains("drawing") && page.text("#view").contains("Width"));
    page.set("#width", "32");
    page.wait("document.querySelector('#picture').dataset.value === '32x8'");
    let kept = page.download(|page| page.click("#download-picture-png"));
    assert_eq!(Picture::from_png(&kept.bytes).unwrap().width(), 800);
    assert_eq!(page.text("#keep-said"), "");

    page.click("#tab-table");
    page.wait_for("#view[data-view=table] #estimates");
    intercept(
        &page,
        "search=2&",
        "const answer = await real(); window.slow = true;
        await new Promise(done => setTimeout(done, 600)); window.slow = false; return answer;",
    );
    page.set("#search", "2");
    page.wait("window.slow === true");
    page.set("#search", "25");
    let found = analyst.json(&format!("{}/estimates?search=25", analyst.release_path()))["found"].clone();
    page.wait("window.slow === false");
    page.wait(&format!("document.querySelector('#found').dataset.value === '{found}'"));
    page.eval("new Promise(done => setTimeout(done, 100))");
    assert_number(&page, "#found", &found);
    assert_eq!(page.texts("#estimates tbody tr").len() as u64, found.as_u64().unwrap());
    intercept(
        &page,
        "/estimates",
        "return new Response('{\"detail\": \"no table today\"}', { status: 500 });",
    );
    page.set("#search", "3");
    page.wait_for_text("#found", "no table today");
    assert!(page.text("h1#name").contains("drawing"));
    // That nobody answers any more concerns the page as a whole.
    intercept(&page, "/estimates", "throw new TypeError('no network');");
    page.set("#search", "4");
    page.wait_for_text("#error", "The analyzer does not answer");
}

/// What this crowd cannot have sent is named, with the reason, and what nothing is known of is no number.
#[test]
fn what_is_in_doubt_withheld_or_missing_is_said() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();
    let path = format!("/release?survey={}&label=0&epoch={}", analyst.hash(), analyst.epoch);
    let page = open(&browser, &analyst, &path);
    page.wait_for_text("#promises", "What it promises");
    assert_eq!(page.eval("document.querySelector('#doubts')"), json!(null), "of an honest crowd");
    page.click("#tab-picture");
    page.wait_for("#view[data-view=picture] #picture");
    assert!(!page.text("#view figcaption").contains("nothing is known"));

    let epoch = analyst.epoch;
    intercept(
        &page,
        "/api/releases/",
        &format!(
            "const given = await (await real()).json();
            if (new URL(url, location).pathname.endsWith('/{epoch}')) Object.assign(given.release, {{
                missing: 3, false_alarm: 1e-4, withheld_values: 3,
                doubts: [{{ mark: 'total-above', reason: 'there are too many ones.' }}],
                withheld: [{{ value: 5, name: 'pixel 5', mark: 'impossible', reason: 'nobody can count so far' }}],
            }});
            if (String(url).includes('/estimates')) given.lines = [
                {{ estimate: null, mark: 'impossible' }}, {{ estimate: null, mark: 'missing' }}, {{ estimate: null }},
                {{ mark: 'liars', significant: true }}, {{ significant: true }}, {{ significant: false }},
            ].map((change, at) => ({{ ...given.lines[at], mark: undefined, ...change }}));
            return new Response(JSON.stringify(given));"
        ),
    );
    page.eval(
        "import('/assets/release.js').then(({ render }) =>
            render(document.querySelector('#page'), new URLSearchParams(location.search), error => { throw error; }))",
    );
    page.wait_for_text("#doubts", "Not what this crowd can have sent");
    assert_eq!(page.number("#doubts"), 4.0);
    assert_eq!(
        page.texts("#doubts li"),
        [
            "In doubt (total-above): there are too many ones.",
            "pixel 5 is withheld (impossible): nobody can count so far.",
            "2 more values are withheld; the table has them.",
        ]
    );
    assert!(page.text("#doubts").contains("in one release of 10,000 at most"));
    page.click("#tab-picture");
    page.wait_for("#view[data-view=picture] #picture");
    let caption = page.text("#view figcaption");
    assert!(
        caption.contains("Of 3 values, in blue-gray, nothing is known: their instances have not come."),
        "{caption}"
    );
    page.click("#tab-table");
    page.wait_for("#view[data-view=table] #estimates");
    assert_eq!(
        page.texts("#estimates .badge"),
        ["withheld: impossible", "missing", "missing", "signal, or liars", "signal", "noise"]
    );
    let caption = page.text("#estimates-caption");
    assert!(
        caption.contains("3 values are missing: the instances that hold them have not come."),
        "{caption}"
    );
    pictures(&page, "dashboard-release-doubts");
}

/// A survey with a trust profile, whose free texts are written by somebody who tries to have them run.
#[test]
fn labels_have_their_own_numbers_and_texts_are_texts() {
    let question = "Which <img src=x onerror=alert(1)>?";
    let population = "<b onclick=alert(2)>artists</b> & co";
    let arguments =
        ["--question", question, "--label", "all", "--label", "one=2", "--epsilon-deletion", "0.2"];
    let mut analyst = Analyst::planned(THRONG, &arguments, 2, population, 4000);
    analyst.release();
    analyst.serve();
    let browser = Browser::start();
    for path in ["/", "/releases", "/ledger"] {
        let page = open(&browser, &analyst, path);
        let wanted = if path == "/ledger" { population } else { question };
        page.wait_for_text("main", wanted);
        assert_eq!(page.eval("document.querySelectorAll('main img, main b').length"), json!(0), "{path}");
    }
    let page = open(&browser, &analyst, "/");
    page.wait_for_text("main", "one: fragments go to instance 2 alone");
    assert_eq!(
        page.text(&format!("#epochs-{:.8} td .badge[data-value=released]", analyst.hash())),
        "released"
    );
    pictures(&page, "dashboard-surveys-labels");

    let path = format!("/release?survey={}&label=2&epoch={}", analyst.hash(), analyst.epoch);
    let page = open(&browser, &analyst, &path);
    page.wait_for_text("h1#name", "drawing · one");
    assert_eq!(page.eval("document.querySelectorAll('main img, main b').length"), json!(0));
    // Its "What if ...?" is about those who answered under this label.
    page.click("#what-if");
    page.wait_for("#answer[data-ready=true]");
    let asked = |query: &str| analyst.json(&format!("/api/surveys/{}/guarantee?{query}", analyst.hash()));
    let is_left = |page: &Page, query: &str| {
        let expected = asked(query);
        page.wait(&format!(
            "document.querySelector('#answer').dataset.ready === 'true' &&
                Number(document.querySelector('#left').dataset.value) === {}",
            expected["left"]["epsilon_with_release"]
        ));
        assert_shown(page, "#left", &expected["left"]["epsilon_with_release"]);
        assert_shown(page, "#epsilon-central", &expected["epsilon_central"]);
        let note = page.text("#left ~ .note");
        let tied = format!("up to {} fragments of a bit", expected["left"]["fragments"]);
        assert!(note.contains(&tied), "{note}");
        assert!(
            note.contains("over all while an answer stays the same")
                && note.ends_with("(removal), in one epoch."),
            "{note}"
        );
        expected["left"]["epsilon"].clone()
    };
    assert_eq!(page.eval("document.querySelector('#label').value"), json!("2"));
    page.set("#instances", "1");
    page.click("#analyzer");
    let one = is_left(&page, "label=2&instances=1&analyzer=true");
    assert!(page.text("main").contains("label one go to these instances alone: 2."));
    pictures(&page, "dashboard-guarantees-label");
    page.set("#label", "1");
    let all = is_left(&page, "label=1&instances=1&analyzer=true");
    assert!(one.as_f64() > all.as_f64(), "one instance of one sees more than one of three: {one} {all}");
    assert!(!page.text("main").contains("go to these instances alone"));
}

/// What is shown with few digits is the weaker promise: never less than an upper bound, never more than a lower one.
#[test]
fn bounds_are_rounded_to_the_weaker_promise() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();
    let page = open(&browser, &analyst, "/ledger");
    let shown = |call: &str| page.eval(&format!("import('/assets/format.js').then(all => all.{call})"));
    for (call, text) in [
        ("epsilon(1)", "1"),
        ("epsilon(1.1)", "1.1"),
        ("epsilon(0.1 + 0.2)", "0.3001"),
        ("epsilon(0.99994)", "1"),
        ("epsilon(0.99991)", "1"),
        ("epsilon(0.9999)", "0.9999"),
        ("epsilon(2.34561)", "2.3457"),
        ("epsilon(0.00000001)", "0.0001"),
        ("epsilon(0)", "0"),
        ("epsilon(null)", "–"),
        ("budget(2.34569)", "2.3456"),
        ("budget(0.99999)", "0.9999"),
        ("budget(0.00009)", "0"),
        ("budget(7.5)", "7.5"),
        ("delta(1e-6)", "1e-6"),
        ("delta(1.01e-6)", "1.1e-6"),
        ("delta(9.91e-7)", "1e-6"),
        ("delta(3.72e-6)", "3.8e-6"),
        ("delta(0)", "0"),
        ("oneIn(1e-6)", "1 in 1,000,000"),
        ("oneIn(1e-5)", "1 in 100,000"),
        ("oneIn(3e-6)", "1 in 333,333"),
        ("oneIn(6e-6)", "1 in 166,666"),
        ("factor(0)", "1"),
        ("factor(1)", "2.72"),
        ("factor(0.001)", "1.01"),
        ("factor(5.25)", "191"),
        ("factor(10)", "22,100"),
        ("factor(50)", "e^50"),
        ("percent(0.995)", "99.5 %"),
        ("percent(0.85555)", "85.555 %"),
        ("floorLasts(false)", "in each epoch"),
        (
            "collusions({ backstop: true, epsilon_if_instances_compromised: [2, 4], epsilon_with_release_if_instances_compromised: [4, 4] })",
            "the analyzer, which has the release, and 1 or more of 2 instances: at most epsilon 4 (removal), in one epoch, and \
             over all while an answer stays the same. Only the fragments that they then know to be somebody's, of one epoch: at \
             most epsilon 2 with 1 of 2, 4 with 2",
        ),
    ] {
        assert_eq!(shown(call), json!(text), "{call}");
    }
    // For any number, and not only for these.
    let wrong = "[...Array(20000).keys()].map(at => 20 * Math.abs(Math.sin(1 + at)) ** 3)
        .filter(one => !(Number(all.epsilon(one)) >= one && Number(all.epsilon(one)) < one + 1.001e-4
            && Number(all.budget(one)) <= one && Number(all.delta(one / 20)) >= one / 20
            && Number(all.factor(one).replaceAll(',', '')) >= Math.exp(one)))";
    let found = page.eval(&format!("import('/assets/format.js').then(all => {wrong})"));
    assert_eq!(found, json!([]));
}

#[test]
fn keys_reach_everything_and_only_the_token_opens_it() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();
    let release = format!("/release?survey={}&label=0&epoch={}", analyst.hash(), analyst.epoch);
    for path in ["/", "/releases", &release, "/guarantees", "/ledger", "/planner"] {
        let page = open(&browser, &analyst, path);
        let reached = page.tab_through();
        assert!(reached.iter().any(|one| one.contains("Planner")), "{path}: {reached:?}");
    }

    // Whoever has no token is asked for it, and a wrong one shows nothing.
    let page = browser.page(&analyst.url());
    page.wait_for("#token");
    assert!(!page.text("main").contains("Which pixel"));
    assert_eq!(page.focused(), "input#token");
    pictures(&page, "dashboard-token");
    page.click("#token");
    page.type_text("a-token-that-nobody-has-made");
    page.press("Enter");
    page.wait_for("#error");
    page.wait_for_problem("401");
    assert!(!page.text("main").contains("Which pixel"));
    pictures(&page, "dashboard-token-wrong");
    // Letters that no header takes make no token, and do not make the analyzer seem away.
    page.click("#token");
    page.type_text("ключ-от-анализатора");
    page.press("Enter");
    page.wait("document.querySelector('#token').value === ''");
    page.wait_for_text("#error", "That is not the token of this analyzer");
    page.click("#token");
    page.type_text(analyst.token());
    page.press("Enter");
    page.wait_for_text("main", "Which pixel do you hold?");
    // It is gone when it is forgotten.
    page.click("#forget");
    page.wait_for("#token");
    page.reload();
    page.wait_for("#token");
    assert!(!page.text("main").contains("Which pixel"));
}

/// Whatever a token is made of, an address takes it, and it is gone from there.
#[test]
fn an_address_takes_any_token() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    let token = "a/b+c=d?e&f!g~h'i(j)%k\"<l>`#m";
    let file = analyst.path("data/operator.token");
    std::fs::write(&file, token).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    analyst.serve();
    assert_eq!(analyst.token(), token);
    let encoded: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let browser = Browser::start();
    let page = browser.page(&format!("{}/#token={encoded}", analyst.url()));
    page.wait_for_text("main", "Which pixel do you hold?");
    assert_eq!(page.eval("location.hash"), json!(""));
    // As it is written, where that can be: nothing in this one is encoded by a browser.
    drop(page);
    let plain = "a/b+c=d?e&f!g~h'i(j)%k-and-more";
    std::fs::write(&file, plain).unwrap();
    analyst.serve();
    let page = browser.page(&format!("{}/#token={plain}", analyst.url()));
    page.wait_for_text("main", "Which pixel do you hold?");
    assert_eq!(page.eval("location.hash"), json!(""));
}
