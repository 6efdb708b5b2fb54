//! The program as a user meets it.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;
use throng_analyze::Picture;
use throng_plot::Png;
use throng_testing::program::{Program, text};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// Over several instances, which may count different people, too: what a respondent's accountant finds.
#[test]
fn planned_report_fragments_keep_what_they_claim() {
    let dir = directory();
    for (tau, respondents, epsilon, instances) in
        [(4, 20_000, 1.0, 3), (16, 100_000, 0.5, 5), (4, 2_000, 1.0, 2), (4, 2_000, 1.0, 1)]
    {
        let arguments = format!(
            "plan --epsilon-central {epsilon} --delta 1e-6 --respondents {respondents} --domain 50 --report-fragments {tau} \
             --instances {instances} --out survey.toml"
        );
        let output = throng(&dir, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let file = fs::read_to_string(dir.path().join("survey.toml")).unwrap();
        let survey = throng_wire::Survey::from_toml(&file).unwrap();
        let claim = throng_survey::CheckedClaim::check(&survey).unwrap();
        assert!(claim.central.epsilon() <= claim.claimed.epsilon(), "{arguments}");
        // Not by far: the plan does not give away what could be had.
        assert!(claim.central.epsilon().value() > 0.5 * epsilon, "{arguments}: {}", claim.central.epsilon());
    }
}

#[test]
fn plan_writes_a_survey_that_can_be_read_and_holds() {
    let dir = directory();
    let arguments =
        "plan --epsilon-central 1 --delta 1e-6 --respondents 3000 --domain 784 --out a/survey.toml --json";
    let output = throng(&dir, &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = fs::read_to_string(dir.path().join("a/survey.toml")).unwrap();
    let survey = throng_wire::Survey::from_toml(&file).unwrap();
    assert_eq!(survey.domain(), 784);
    assert_eq!(u64::from(survey.delivery.envelopes), plan["envelopes_per_instance"].as_u64().unwrap());
    let local = plan["epsilon_floor"].as_f64().unwrap();
    assert!((3.0..5.5).contains(&local), "{local}");
    // The design's rule of thumb: about 6 respondents of noise per pixel at epsilon_central 1.
    let error = plan["standard_error"].as_f64().unwrap();
    assert!((5.0..8.0).contains(&error), "{error}");
    assert!(plan["consent"].as_str().unwrap().contains("at least 3000"));
    assert_eq!(plan["routing"], "by-value");
    // Whatever is planned for, it says what is left if all are honest and if half are: as for a crowd of half the size.
    assert_eq!((survey.crowd.honest_fraction, survey.honest_fraction()), (None, 1.0));
    let if_honest = plan["if_honest"].as_array().unwrap();
    let [all, half] = [0, 1].map(|one| if_honest[one]["epsilon_central"].as_f64().unwrap());
    assert_eq!(
        (&if_honest[0]["honest_fraction"], &if_honest[1]["honest_fraction"]),
        (&1.0.into(), &0.5.into())
    );
    assert!(all <= 1.0 && 1.0 < half && half < local, "{all}, {half}, {local}");
    let line = format!("account --respondents 1500 --delta 0.99e-6 --epsilon-local {local} --json");
    let account = throng(&dir, &line.split(' ').collect::<Vec<_>>());
    let account: serde_json::Value = serde_json::from_slice(&account.stdout).unwrap();
    let rows = account["bounds"].as_array().unwrap_or_else(|| panic!("{account}"));
    let exact = rows.iter().find(|row| row["bound"] == "exact").unwrap()["epsilon_central"].as_f64().unwrap();
    assert!((half / exact - 1.0).abs() < 0.01, "{half}, {exact}");
    let stated = "plan --epsilon-central 1 --delta 1e-6 --respondents 3000 --domain 784 --honest-fraction 0.5 --out h.toml";
    let page = text(&throng(&dir, &stated.split(' ').collect::<Vec<_>>()).stdout);
    for part in ["if all are honest", "if half of them are       epsilon_central 0.99", "of whom 50 % honest"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let stated = fs::read_to_string(dir.path().join("h.toml")).unwrap();
    assert!(stated.contains("honest_fraction = 0.5"), "{stated}");
    // Whoever ties fragments to people has the release, too: of several fragments the floor is left, and stated first.
    let arguments =
        "plan --epsilon-central 1 --delta 1e-6 --respondents 3000 --domain 784 --report-fragments 4";
    let page = text(&throng(&dir, &arguments.split(' ').collect::<Vec<_>>()).stdout);
    let says = |name: &str| -> Vec<String> {
        let line = page.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{page}"));
        line.rsplit("epsilon ").next().unwrap().split(", ").map(str::to_owned).collect()
    };
    let floor = says("whatever fails")[0].rsplit(' ').nth(1).unwrap().parse::<f64>().unwrap();
    for (left, tied) in says("bad instances + analyzer").iter().zip(says("  fragments tied alone")) {
        let [left, tied] = [left, &tied].map(|number| number.parse::<f64>().unwrap());
        assert!(left >= floor && left < floor + 1e-4 && tied < floor, "{page}");
    }
    assert!(page.contains("over several epochs") && page.contains("--answer-changes never"), "{page}");
    let once = format!("{arguments} --answer-changes never --out once.toml");
    let page = text(&throng(&dir, &once.split(' ').collect::<Vec<_>>()).stdout);
    assert!(page.contains("epsilon_backstop for all of them together: the first report counts"), "{page}");
    let file = fs::read_to_string(dir.path().join("once.toml")).unwrap();
    assert!(file.contains("answer_changes = \"never\""), "{file}");
    let alone =
        "plan --epsilon-central 1 --delta 1e-6 --respondents 3000 --domain 784 --answer-changes never";
    let refused = throng(&dir, &alone.split(' ').collect::<Vec<_>>());
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("give --report-fragments, too"), "{}", text(&refused.stderr));
    // Every guarantee says what it compares: 1 + e is 3.7183.
    assert!(page.contains("epsilon_central 2, delta 3.72e-6 (replacement)"), "{page}");
    assert!(
        page.contains("not hidden (absence): the first hop of each instance signs how many took part"),
        "{page}"
    );
    let labelled =
        "plan --epsilon-central 1 --delta 1e-6 --respondents 3000 --domain 784 --label a --label b=2 --json";
    let labelled = throng(&dir, &labelled.split(' ').collect::<Vec<_>>());
    let labelled: serde_json::Value = serde_json::from_slice(&labelled.stdout).unwrap();
    let absence = labelled["absence"]["epsilon_central"].as_f64().unwrap();
    // Four counts move. With normal noise of the crowd's variance, 3000 p (1 - p), they would have 1.173; deletions add a little.
    assert!(absence > 1.173 && absence < 1.4, "{absence}");
    // Ask the accountant whether the file's parameters keep its claim.
    let question = format!("account --respondents 3000 --delta 0.99e-6 --epsilon-local {local} --json");
    let account = throng(&dir, &question.split(' ').collect::<Vec<_>>());
    let account: serde_json::Value = serde_json::from_slice(&account.stdout).unwrap();
    assert_eq!(account["bounds"][0]["bound"], "exact");
    assert!(account["bounds"][0]["epsilon_central"].as_f64().unwrap() <= 1.0);
}

/// What the accountant says of report fragments over several instances is what the planner plans by, and more than of one
/// instance that counts the same people.
#[test]
fn fragments_over_several_instances_are_accounted_for_as_counts_of_their_own() {
    let dir = directory();
    let ask = |question: &str| -> Value {
        let output = throng(&dir, &question.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of = |flags: &str| {
        let answer =
            ask(&format!("account --respondents 3000 --delta 1e-6 --report-fragments 4 {flags} --json"));
        assert_eq!(answer["bounds"][0]["bound"], "exact");
        let number = |name: &str| answer["bounds"][0][name].as_f64().unwrap();
        (number("epsilon_local"), number("epsilon_central"))
    };
    let (_, one) = of("--instances 1 --epsilon-local 4 --epsilon-fragment 3.5");
    let (_, three) = of("--instances 3 --epsilon-local 4 --epsilon-fragment 3.5");
    // As the row of JSON has it.
    let row = r#"{"bound": "frag_epochs_eps", "params": {"n": 3000, "eps_f": 3.5, "tau": 4, "epochs": 1, "delta": 1e-6}}"#;
    fs::write(dir.path().join("row"), format!("{row}\n")).unwrap();
    let row: Value = serde_json::from_slice(&throng(&dir, &["account", "--rows", "row"]).stdout).unwrap();
    let composed = row["value"].as_f64().unwrap_or_else(|| panic!("{row}"));
    // The coin of a fragment is rounded towards more privacy.
    assert!((three / composed - 1.0).abs() < 1e-6, "{three} {composed}");
    assert!(three > 1.2 * one, "{one} {three}");
    // Never more than the backstop.
    let (_, little) = of("--instances 3 --epsilon-local 0.01 --epsilon-fragment 2.5");
    assert!((little - 0.01).abs() < 1e-9, "{little}");
    let (local, _) = of("--instances 3 --epsilon-central 1");
    let (_, kept) = of(&format!("--instances 3 --epsilon-local {local}"));
    assert!(kept <= 1.0 && kept > 0.99, "{local} {kept}");
}

#[test]
fn plan_answers_the_inverse_questions() {
    let dir = directory();
    fs::write(dir.path().join("sample.csv"), "value,count\na,70\nb,20\nc,10\n").unwrap();
    let arguments = "plan --epsilon-central 1 --delta 1e-6 --respondents 50000 --domain 100000 --encoding sketch \
                     --sample sample.csv --crowd-for-share 0.01 --json";
    let output = throng(&dir, &arguments.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(plan["collision_error"].as_f64().unwrap() > 0.0);
    assert!(plan["respondents_for_share"].as_u64().unwrap() >= 1000);
    assert!(plan["one_more_fragment"]["envelopes_per_instance"].as_u64().unwrap() > 0);
    fs::write(dir.path().join("sample.csv"), "value,count\na,many\n").unwrap();
    let refused = throng(&dir, &arguments.split_whitespace().collect::<Vec<_>>());
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("line 2"), "{}", text(&refused.stderr));
}

#[test]
fn plan_says_what_an_answer_costs_and_when_another_design_is_cheaper() {
    let dir = directory();
    for (domain, cheaper) in [(100, true), (87_680, false)] {
        let arguments =
            format!("plan --epsilon-central 1 --delta 1e-6 --respondents 1000000 --domain {domain}");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let page = throng(&dir, &arguments);
        let page = text(&page.stdout);
        assert!(page.contains("processor time for that     about"), "{page}");
        let output = throng(&dir, &[&arguments[..], &["--json"]].concat());
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |at: &str| plan.pointer(at).and_then(Value::as_f64).unwrap();
        assert_eq!(number("/respondent_ms") > 2.0 * number("/prio3/respondent_ms"), cheaper, "{plan}");
        assert!(number("/bytes_per_respondent") < number("/prio3/bytes_per_respondent"));
        assert!(number("/servers_ms") > 0.0 && number("/prio3/servers_ms") > 0.0);
        match plan["another_design"].as_str() {
            Some(sentence) => {
                assert!(cheaper && page.contains(&format!("Another design:\n{sentence}\n")), "{page}");
                assert!(sentence.contains("Prio3") && sentence.contains("one must be honest"), "{sentence}");
            }
            None => assert!(!cheaper && !page.contains("Prio3"), "{page}"),
        }
    }
}

#[test]
fn plan_refuses_what_cannot_be_and_says_what_can() {
    let dir = directory();
    let arguments =
        "plan --epsilon-central 0.01 --delta 1e-9 --respondents 100 --domain 1000 --out survey.toml";
    let output = throng(&dir, &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("feasible would be"), "{}", text(&output.stderr));
    assert!(!dir.path().join("survey.toml").exists());
    let nonsense = throng(
        &dir,
        &"plan --epsilon-central -1 --delta 1e-9 --respondents 100 --domain 5".split(' ').collect::<Vec<_>>(),
    );
    assert_eq!(nonsense.status.code(), Some(2));
}

#[test]
fn plan_refuses_too_many_fragments_with_their_number() {
    let dir = directory();
    let plan = "plan --epsilon-central 1 --delta 1e-6 --respondents 200000 --out survey.toml";
    for (more, change) in [
        ("--domain 4000000000 --encoding one-hot", "or a sketch"),
        ("--domain 100 --report-fragments 20000", "fewer report fragments"),
        ("--attribute a=2000000000 --attribute b=2000000000", "fewer values"),
    ] {
        let output = throng(&dir, &plan.split(' ').chain(more.split(' ')).collect::<Vec<_>>());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{more}: {error}");
        assert!(error.contains(change), "{more}: {error}");
        let number = |after: &str| -> u64 {
            let rest = error.split(after).nth(1).unwrap_or_else(|| panic!("{after}: {error}"));
            rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        assert!(number("would send about ") > 3000 && number(", and ") > 1000, "{error}");
        assert_eq!(number("more than the "), 1000, "{error}");
        assert!(!dir.path().join("survey.toml").exists());
    }
}

#[test]
fn plan_writes_surveys_of_records() {
    let dir = directory();
    let arguments = "plan --epsilon-central 1 --delta 1e-6 --respondents 100000 --attribute age=9 --attribute sex=2 \
                     --attribute county=100 --crowd-for-share 0.1 --out people.toml";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let output = throng(&dir, &[&arguments[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = fs::read_to_string(dir.path().join("people.toml")).unwrap();
    let survey = throng_wire::Survey::from_toml(&file).unwrap();
    let throng_wire::survey::Encoding::Record { attributes } = &survey.encoding else { panic!("{file}") };
    let attributes: Vec<_> = attributes.iter().map(|one| (one.name.as_str(), one.values)).collect();
    assert_eq!(attributes, [("age", 9), ("sex", 2), ("county", 100)]);
    assert_eq!(plan["survey"]["encoding"]["kind"], "record");
    // The noise of one question, scaled up by three; and the error of a third of the crowd.
    let number = |plan: &Value, name: &str| plan[name].as_f64().unwrap();
    let one = "plan --epsilon-central 1 --delta 1e-6 --respondents 100000 --domain 111 --json";
    let one: Value =
        serde_json::from_slice(&throng(&dir, &one.split(' ').collect::<Vec<_>>()).stdout).unwrap();
    let ratio = number(&plan, "standard_error") / number(&one, "standard_error");
    assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
    assert!((number(&plan, "sampling_error") - 200_000f64.sqrt()).abs() < 1e-9);
    assert_eq!(plan["epsilon_floor"], one["epsilon_floor"]);
    assert_eq!(plan["envelopes_per_instance"], one["envelopes_per_instance"]);
    assert!(plan["consent"].as_str().unwrap().starts_with("Of your answers to 3 questions one is picked"));
    assert!(plan["respondents_for_share"].as_u64().unwrap() > 100);
    assert!(plan.get("prio3").is_none() && one.get("sampling_error").is_none());
    let page = text(&throng(&dir, &arguments).stdout);
    assert!(
        page.contains("one sampled attribute       adds 447.2 for a value that everybody holds"),
        "{page}"
    );

    let simulate = throng(&dir, &["simulate", "--survey", "people.toml"]);
    assert_eq!(simulate.status.code(), Some(2));
    assert!(text(&simulate.stderr).contains("records of several attributes"), "{}", text(&simulate.stderr));
    for wrong in [
        &["--attribute", "age"][..],
        &["--attribute", "age=1"],
        &["--attribute", "age=9", "--attribute", "age=2"],
        &["--attribute", "=9"],
        &["--attribute", "age=9", "--domain", "9"],
        &["--attribute", "age=9", "--encoding", "sketch"],
        &[],
    ] {
        let common = "plan --epsilon-central 1 --delta 1e-6 --respondents 100000 --out wrong.toml";
        let output = throng(&dir, &[&common.split(' ').collect::<Vec<_>>()[..], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stdout));
        assert!(!dir.path().join("wrong.toml").exists());
    }
}

#[test]
fn account_answers_rows_line_by_line() {
    let dir = directory();
    let rows = [
        r#"{"bound": "exact_eps_a0", "params": {"n": 1914589, "eps_l": 8.55, "delta": 5e-8}}"#,
        "",
        r#"{"bound": "cheu_lemma_eps", "params": {"n": 10, "eps_l": 8.55, "delta": 5e-8}}"#,
    ];
    fs::write(dir.path().join("rows"), rows.join("\n")).unwrap();
    let output = throng(&dir, &["account", "--rows", "rows"]);
    assert_eq!(output.status.code(), Some(0), "errors are answers");
    let answers: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2);
    assert!((answers[0]["value"].as_f64().unwrap() - 0.2527).abs() < 1e-4);
    assert!(answers[1]["error"].as_str().unwrap().starts_with("not applicable"));
    fs::write(dir.path().join("rows"), "nonsense").unwrap();
    assert_eq!(throng(&dir, &["account", "--rows", "rows"]).status.code(), Some(2));
    assert_eq!(throng(&dir, &["account", "--rows", "missing"]).status.code(), Some(2));
    assert_eq!(throng(&dir, &["account"]).status.code(), Some(2));
}

#[test]
fn account_draws_the_trade_off() {
    let dir = directory();
    let arguments =
        "account --respondents 1000 --delta 1e-6 --epsilon-central 1 --plot curve.svg --against error";
    let output = throng(&dir, &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("exact"));
    assert!(fs::read_to_string(dir.path().join("curve.svg")).unwrap().contains("epsilon_central"));
}

#[test]
fn help_shows_examples() {
    let dir = directory();
    for (arguments, example) in [
        (&["--help"][..], "throng demo --json"),
        (&["demo", "--help"], "throng demo --json"),
        (&["demo", "-h"], "throng demo --json"),
        (&["plan", "--help"], "--out survey.toml"),
        (&["plan", "--help"], "--attribute age=9 --attribute sex=2"),
        (&["respond", "--help"], "--value 3,1,-"),
        (&["account", "--help"], "pld_sgd_fmt23_subsampled_eps (n, m, eps0, T, delta)"),
    ] {
        let output = throng(&dir, arguments);
        assert_eq!(output.status.code(), Some(0));
        let help = text(&output.stdout);
        assert!(help.contains("Examples:") && help.contains(example), "{help}");
        assert!(help.lines().all(|line| line.len() <= 120), "{help}");
    }
    for wrong in [&[][..], &["dmeo"], &["demo", "--imag"]] {
        assert_eq!(throng(&dir, wrong).status.code(), Some(2));
    }
}

/// A directory with `small.png` in it.
fn directory() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("small.png"), small().to_png().unwrap()).unwrap();
    dir
}

/// 32 x 32 pixels: a bright square on black.
fn small() -> Picture {
    let inside = |at: u32| (8..24).contains(&(at % 32)) && (8..24).contains(&(at / 32));
    Picture::new(32, 32, (0..1024).map(|at| if inside(at) { 240 } else { 0 }).collect()).unwrap()
}

fn throng(dir: &TempDir, arguments: &[&str]) -> Output {
    THRONG.run_in(dir, arguments).output().unwrap()
}

/// What is typed and what comes back, in files that are named after what they show. `TRYCMD=overwrite` writes them anew.
#[test]
fn commands_say_what_their_transcripts_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
