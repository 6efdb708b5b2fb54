//! The operator's dashboard in a real browser: every page says what it should, with the numbers of the API, and nothing goes
//! wrong on it. A page that is dropped with an error in its console fails its test (support/browser/page.rs).

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

#[path = "support/analyst.rs"]
mod analyst;
#[path = "support/browser.rs"]
mod browser;

use analyst::{Analyst, WIDTH};
use browser::{Browser, Page};
use serde_json::{Value, json};
use throng::picture::Picture;
use throng_encode::CheckedClaim;
use throng_wire::Survey;

/// A page of the dashboard, for somebody who has the token.
fn open<'a>(browser: &'a Browser, analyst: &Analyst, path: &str) -> Page<'a> {
    let page = browser.page(&format!("{}{path}#token={}", analyst.url(), analyst.token()));
    page.wait_for("#page[data-ready=true]");
    page
}

/// Pictures of a page as it is, in the dark, and on a phone.
fn pictures(page: &Page, name: &str) {
    page.screenshot(name);
    page.color_scheme("dark");
    page.screenshot(&format!("{name}-dark"));
    page.color_scheme("light");
    page.phone();
    page.screenshot(&format!("{name}-phone"));
    page.viewport(1280, 800);
}

/// A number of the page is the API's.
fn assert_number(page: &Page, selector: &str, api: &Value) {
    assert_eq!(page.number(selector), api.as_f64().unwrap(), "{selector}");
}

#[test]
fn every_page_shows_its_text_and_a_number_of_the_api() {
    let analyst = Analyst::with_release();
    let browser = Browser::start();

    let page = open(&browser, &analyst, "/");
    page.wait_for_text("main", "Which pixel do you hold?");
    let survey = &analyst.json("/api/surveys")["surveys"][0];
    assert!(page.text("main").contains("drawing") && page.texts(".badge").contains(&"released".to_owned()));
    let planned = survey["respondents_min"].as_u64().unwrap();
    assert_eq!(planned, 2900);
    assert!(page.text("main").contains("2,900"), "{}", page.text("main"));
    pictures(&page, "dashboard-surveys");

    let page = open(&browser, &analyst, "/releases");
    let listed = &analyst.json("/api/releases")["releases"][0];
    assert_eq!(page.text("h1"), "Releases");
    assert_number(&page, "#respondents-0", &listed["respondents"]);
    assert_number(&page, "#epsilon-0", &listed["epsilon_central"]);
    pictures(&page, "dashboard-releases");
    page.click("#release-0");
    page.wait_for_text("h1#name", "drawing");

    let page = open(&browser, &analyst, "/guarantees");
    let guarantee = analyst.json(&format!("/api/surveys/{}/guarantee", analyst.hash()));
    page.wait_for("#answer[data-ready=true]");
    for name in ["local", "fragment", "central"] {
        assert_number(&page, &format!("#epsilon-{name}"), &guarantee[format!("epsilon_{name}")]);
    }
    assert!(page.text("#bound-words").starts_with("Computed for exactly the coins"));
    pictures(&page, "dashboard-guarantees");

    let page = open(&browser, &analyst, "/ledger");
    let population = &analyst.json("/api/ledger")["populations"][0];
    page.wait_for_text("#population-0", "artists");
    assert_number(&page, "#spent-0", &population["epsilon_spent"]);
    assert_number(&page, "#left-0", &population["epsilon_left"]);
    assert_number(&page, "#ledger-0 td[data-value]", &population["releases"][0]["epsilon_alone"]);
    pictures(&page, "dashboard-ledger");
}

#[test]
fn a_release_is_seen_in_four_ways_and_kept() {
    let analyst = Analyst::with_release();
    let browser = Browser::start();
    let path = format!("/release?survey={}&label=0&epoch={}", analyst.hash(), analyst.epoch);
    let page = open(&browser, &analyst, &path);
    let release = &analyst.json(&analyst.release_path())["release"];
    page.wait_for_text("#promises", "What it promises");

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
    assert_number(&page, "#estimates td[data-value]", &table["lines"][0]["estimate"]);
    page.set("#search", "25");
    let found = analyst.json(&format!("{}/estimates?search=25", analyst.release_path()));
    page.wait(&format!("document.querySelector('#found').dataset.value === '{}'", found["found"]));
    assert_eq!(page.texts("#estimates tbody tr").len() as u64, found["found"].as_u64().unwrap());
    pictures(&page, "dashboard-release-table");

    // What is kept is what the API gives.
    for file in ["estimates.csv", "estimates.json", "release.json", "ranks.svg"] {
        let kept = page.download(|page| page.click(&format!("#download-{}", file.replace('.', "-"))));
        let given = analyst.get(&format!("{}/files/{file}", analyst.release_path()));
        let called = format!("drawing-{:.8}-epoch-{}-{file}", analyst.hash(), analyst.epoch);
        assert_eq!(kept.name, called);
        assert!(kept.bytes == given.body && !kept.bytes.is_empty(), "{file}");
    }
    for (file, width) in [("ranks.png", 600), ("picture.png", 800)] {
        let kept = page.download(|page| page.click(&format!("#download-{}", file.replace('.', "-"))));
        assert!(Picture::from_png(&kept.bytes).unwrap().width() >= width, "{file}");
    }
}

#[test]
fn what_if_and_planner_change_to_what_the_api_says() {
    let analyst = Analyst::with_release();
    let browser = Browser::start();

    let page = open(&browser, &analyst, "/guarantees");
    page.wait_for("#answer[data-ready=true]");
    let asked = |query: &str| analyst.json(&format!("/api/surveys/{}/guarantee?{query}", analyst.hash()));
    // At rest all is as the survey says, to the last digit, and the number is that of a respondent's own accountant.
    let planned = CheckedClaim::check(analyst.survey()).unwrap().central.epsilon().value();
    let as_planned = |page: &Page| {
        assert_eq!(page.number("#epsilon-central"), planned);
        assert_eq!((page.number("#honest-shown"), page.number("#respondents-shown")), (0.995, 2900.0));
        assert_eq!(page.text("#honest-shown"), "99.5 %, as planned");
        assert_eq!(page.text("#respondents-shown"), "2,900, as planned");
        assert!(page.text("#epsilon-central ~ .note").contains("the survey claims at most 1."), "{planned}");
    };
    as_planned(&page);
    // From there a key goes to the next whole per cent, and the button comes back.
    page.eval("document.querySelector('#honest').focus()");
    page.press("ArrowLeft");
    page.wait_for_text("#honest-shown", "99 %");
    page.wait(&format!(
        "document.querySelector('#epsilon-central').dataset.value === '{}'",
        asked("honest_fraction=0.99")["epsilon_central"]
    ));
    page.click("#reset");
    page.wait(&format!("document.querySelector('#epsilon-central').dataset.value === '{planned}'"));
    page.wait_for("#answer[data-ready=true]");
    as_planned(&page);
    // Every epsilon says what it compares.
    for id in ["local", "fragment", "central"] {
        let note = page.text(&format!("#epsilon-{id} ~ .note"));
        assert!(note.contains("removal") && note.contains("Replacement: at most"), "{note}");
    }
    assert!(page.text("#left").contains("(removal)"), "{}", page.text("#left"));
    assert!(page.text("#neighbors").contains("up to twice the ε"), "{}", page.text("#neighbors"));
    // The 50th of the slider is 50 %: the planned share is above all but one of them.
    page.set("#honest", "49");
    let halved = asked("honest_fraction=0.5");
    page.wait(&format!(
        "document.querySelector('#epsilon-central').dataset.value === '{}'",
        halved["epsilon_central"]
    ));
    assert!(page.number("#epsilon-central") > planned, "fewer who are honest hide less");
    page.set("#honest", "100");
    page.set("#instances", "2");
    page.click("#analyzer");
    let bad = asked("instances=2&analyzer=true&honest_fraction=1");
    page.wait_for("#left[data-kind=local]");
    assert_number(&page, "#left", &bad["left"]["epsilon"]);
    page.click("#analyzer");
    page.set("#instances", "0");
    page.set("#respondents", "49");
    page.wait_for_text("#destroyed", "1,450");
    let half = asked("respondents=1450&honest_fraction=1");
    assert_number(&page, "#epsilon-central", &half["epsilon_central"]);
    page.screenshot("dashboard-guarantees-destroyed");
    page.set("#bound", "clones21");
    page.wait_for_text("#bound-words", "two years earlier");

    // A slider, moved by keys.
    let page = open(&browser, &analyst, "/planner");
    page.wait_for("#answer[data-ready=true]");
    let plan = |page: &Page, sample: &str| {
        let value = |id: &str| page.eval(&format!("document.querySelector('#{id}-shown').dataset.value"));
        let text = |id: &str| value(id).as_str().unwrap().to_owned();
        analyst.json(&format!(
            "/api/plan?epsilon_central={}&delta=1e-6&respondents={}&domain={}&report_fragments={}&instances={}&sample={sample}&seed=1",
            text("epsilon-central"), text("respondents"), text("domain"), text("fragments"), text("instances")
        ))
    };
    let first = plan(&page, "cat");
    assert_number(&page, "#standard-error", &first["plan"]["standard_error"]);
    assert_number(&page, "#rmse", &first["sample"]["rmse"]);
    pictures(&page, "dashboard-planner");
    page.eval("document.querySelector('#epsilon-central').focus()");
    (0..4).for_each(|_| page.press("ArrowLeft"));
    page.wait(&format!("document.querySelector('#answer').dataset.ready === 'true' && document.querySelector('#standard-error').dataset.value !== '{}'", first["plan"]["standard_error"]));
    let second = plan(&page, "cat");
    assert_number(&page, "#standard-error", &second["plan"]["standard_error"]);
    assert!(second["plan"]["standard_error"].as_f64() > first["plan"]["standard_error"].as_f64());
    page.set("#fragments", "3");
    page.set("#sample", "zipf");
    page.wait_for("#ranks");
    page.wait_for("#answer[data-ready=true]");
    let third = plan(&page, "zipf");
    assert_eq!(page.eval("document.querySelector('#fragments-shown').dataset.value"), json!("4"));
    assert_number(&page, "#rmse", &third["sample"]["rmse"]);
    assert_number(&page, "#envelopes", &third["plan"]["envelopes_per_instance"]);
    pictures(&page, "dashboard-planner-zipf");

    let kept = page.download(|page| page.click("#download-survey"));
    let survey = Survey::from_toml(&String::from_utf8(kept.bytes).unwrap()).unwrap();
    assert_eq!(kept.name, "survey.toml");
    let respondents = page.number("#respondents-shown");
    assert_eq!(
        (survey.crowd.respondents_min as f64, survey.domain()),
        (respondents, third["domain"].as_u64().unwrap())
    );
    assert_eq!(json!(survey.claim.epsilon_central), third["plan"]["epsilon_central"]);
}

/// What is shown with few digits is the weaker promise: never less than an upper bound, never more than a lower one.
#[test]
fn bounds_are_rounded_to_the_weaker_promise() {
    let analyst = Analyst::with_release();
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
    let analyst = Analyst::with_release();
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
    page.click("#token");
    page.type_text("a-token-that-nobody-has-made");
    page.press("Enter");
    page.wait_for("#error");
    page.wait_for_problem("401");
    assert!(!page.text("main").contains("Which pixel"));
    page.screenshot("dashboard-token");
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
