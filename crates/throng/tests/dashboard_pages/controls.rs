//! Pages whose controls change their numbers: what if, and the planner.

use serde_json::{Value, json};
use throng_survey::CheckedClaim;
use throng_testing::analyst::Analyst;
use throng_testing::browser::{Browser, Page};
use throng_wire::Survey;

use crate::{THRONG, assert_number, assert_shown, intercept, open, pictures};

#[test]
fn what_if_changes_to_what_the_api_says() {
    let analyst = Analyst::with_release(THRONG);
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
    assert!(page.text("#neighbors").contains("up to twice the ε, and of a release 1 + e^ε times the delta"));
    assert!(page.text("#absence").contains("(absence) is not hidden"), "{}", page.text("#absence"));
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
    // The analyzer has the release, so what is left is what it leaves together with the fragments that it can tie.
    assert_shown(&page, "#left", &bad["left"]["epsilon_with_release"]);
    let note = page.text("#left ~ .note");
    assert!(bad["left"]["epsilon"].as_f64() < bad["left"]["epsilon_with_release"].as_f64());
    assert!(note.contains("Those fragments alone say at most"), "{note}");
    page.click("#analyzer");
    // Without the analyzer nobody can open what they see.
    page.wait_for("#left[data-kind=participation-only]");
    assert_eq!(page.text("#left"), "the value stays sealed");
    assert_eq!(asked("instances=2&honest_fraction=1")["left"]["kind"], "participation-only");
    page.set("#instances", "0");
    page.set("#respondents", "49");
    page.wait_for_text("#destroyed", "1,450");
    let half = asked("respondents=1450&honest_fraction=1");
    assert_number(&page, "#epsilon-central", &half["epsilon_central"]);
    page.screenshot("dashboard-guarantees-destroyed");
    page.set("#bound", "clones21");
    page.wait_for_text("#bound-words", "two years earlier");
    let looser = asked("respondents=1450&honest_fraction=1&bound=clones21");
    assert_shown(&page, "#epsilon-central", &looser["epsilon_central"]);
    assert!(looser["epsilon_central"].as_f64() > half["epsilon_central"].as_f64(), "it is looser");
}

#[test]
fn planner_changes_to_what_the_api_says() {
    let analyst = Analyst::with_release(THRONG);
    let browser = Browser::start();
    let page = open(&browser, &analyst, "/planner");
    // Waits until the numbers are those of the API for what the controls say, and gives them.
    let settled = |seed: u32| -> Value {
        let shown = |id: &str| page.eval(&format!("document.querySelector('#{id}-shown').dataset.value"));
        let chosen = |id: &str| page.eval(&format!("document.querySelector('#{id}').value"));
        let text = |value: Value| value.as_str().unwrap().to_owned();
        let [central, respondents, domain, fragments, instances] =
            ["epsilon-central", "respondents", "domain", "fragments", "instances"].map(|id| text(shown(id)));
        let [delta, sample] = ["delta", "sample"].map(|id| text(chosen(id)));
        let page_of = analyst.json(&format!(
            "/api/plan?epsilon_central={central}&delta={delta}&respondents={respondents}&domain={domain}\
             &report_fragments={fragments}&instances={instances}&sample={sample}&seed={seed}"
        ));
        let (plan, tried) = (&page_of["plan"], &page_of["sample"]);
        let numbers = json!({
            "standard-error": plan["standard_error"],
            "noise-threshold": plan["noise_threshold"],
            "epsilon-floor": plan["epsilon_floor"],
            "envelopes": plan["envelopes_per_instance"],
            "domain-planned": page_of["domain"],
            "rmse": tried["rmse"],
        });
        page.wait(&format!(
            "document.querySelector('#answer').dataset.ready === 'true' && Object.entries({numbers})
                .every(([id, value]) => Number(document.getElementById(id)?.dataset.value) === value)"
        ));
        for id in ["standard-error", "epsilon-floor", "envelopes", "domain-planned", "rmse"] {
            assert_shown(&page, &format!("#{id}"), &numbers[id]);
        }
        assert_eq!(
            page.text("#if-honest").matches("epsilon_central").count(),
            2,
            "if all are honest, and if half are"
        );
        numbers
    };
    let mut before = settled(1);
    // A slider that changes nothing says why: the cat has no more pixels.
    assert_eq!(before["domain-planned"], 784);
    page.wait_for_text("#domain-hint", "784 pixels (28 × 28) at most");
    pictures(&page, "dashboard-planner");
    // On a phone the result is in sight while the sliders are, and follows them.
    page.phone();
    let brief = |page: &Page| {
        page.wait(
            "(() => { const at = document.querySelector('#brief').getBoundingClientRect();
                return scrollY === 0 && at.top > 0 && at.bottom <= innerHeight })()",
        );
        page.text("#brief")
    };
    let (first, error) = (brief(&page), page.text("#standard-error"));
    assert!(first.contains(&error), "{first}: {error}");
    page.viewport(1280, 800);
    // A slider, moved by keys.
    page.eval("document.querySelector('#epsilon-central').focus()");
    (0..4).for_each(|_| page.press("ArrowLeft"));
    let noisier = settled(1);
    assert!(noisier["standard-error"].as_f64() > before["standard-error"].as_f64());
    before = noisier;
    // Every control changes something, to what the API says.
    for (control, value) in [
        ("domain", "8"),
        ("sample", "zipf"),
        ("respondents", "20"),
        ("epsilon-central", "9"),
        ("fragments", "3"),
        ("instances", "5"),
        ("domain", "15"),
        ("delta", "1e-8"),
    ] {
        page.set(&format!("#{control}"), value);
        let after = settled(1);
        assert_ne!(before, after, "{control}");
        before = after;
    }
    assert_eq!(page.number("#fragments-shown"), 4.0);
    assert_eq!(page.text("#domain-hint"), "");
    page.click("#fresh");
    let fresh = settled(2);
    assert_ne!(before["rmse"], fresh["rmse"], "noise is fresh");
    assert_eq!(before["standard-error"], fresh["standard-error"]);
    // What is left of a collusion is the floor, since the analyzer has the release; the fragments alone come after it.
    let (floor, collusions) = (page.text("#epsilon-floor"), page.text("#collusions"));
    assert!(
        collusions.contains(&format!(
            "at most epsilon {floor} (removal), in one epoch, and over all while an answer stays the same. Only the fragments"
        )),
        "{collusions}"
    );
    pictures(&page, "dashboard-planner-zipf");

    // The file is the plan that is shown, also while another is on its way.
    let shown =
        ["respondents", "epsilon-central", "instances"].map(|id| page.number(&format!("#{id}-shown")));
    intercept(&page, "/api/plan?", "return new Promise(() => {});");
    page.set("#name", "lunch");
    page.set("#question", "What is for lunch?");
    page.set("#respondents", "8");
    page.wait_for("#answer[data-ready=false]");
    let kept = page.download(|page| page.click("#download-survey"));
    let survey = Survey::from_toml(&String::from_utf8(kept.bytes).unwrap()).unwrap();
    assert_eq!(kept.name, "survey-lunch.toml");
    assert_eq!((survey.name.as_str(), survey.question.as_str()), ("lunch", "What is for lunch?"));
    let terms = [
        survey.crowd.respondents_min as f64,
        survey.claim.epsilon_central,
        f64::from(survey.delivery.instances),
    ];
    assert_eq!(terms, shown);
    assert_eq!((json!(survey.domain()), survey.claim.delta), (fresh["domain-planned"].clone(), 1e-8));
    // What cannot be a name is said beside the button.
    page.set("#name", "lunch today");
    page.click("#download-survey");
    page.wait_for_text("#file-said", "letters, digits");
    page.wait_for_problem("400");
    assert_eq!(page.text("h1"), "Planner");
}
