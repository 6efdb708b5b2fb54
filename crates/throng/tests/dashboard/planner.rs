//! What the planner page asks for: the same plans as `throng plan`, tried on a sample.

use std::fs;

use serde_json::{Value, json};
use throng_testing::analyst::Analyst;

use crate::{PLAN, THRONG, base64};

#[test]
fn a_plan_is_what_throng_plan_says() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.serve();
    let file = analyst.path("planned.toml");
    for (query, arguments) in [
        (PLAN, "--epsilon-central 1 --delta 1e-6 --respondents 50000 --domain 500 --report-fragments 3"),
        (
            "epsilon_central=0.5&delta=1e-7&respondents=1000000&domain=100000&instances=5&hops=3&honest_fraction=0.8\
             &name=a-b&question=Why%20so%3F&epoch_s=3600&encoding=sketch",
            "--epsilon-central 0.5 --delta 1e-7 --respondents 1000000 --domain 100000 --instances 5 --hops 3 \
             --honest-fraction 0.8 --name a-b --question Why_so? --epoch-s 3600 --encoding sketch",
        ),
    ] {
        let page = analyst.json(&format!("/api/plan?{query}"));
        let arguments: Vec<String> = arguments.split_whitespace().map(|one| one.replace('_', " ")).collect();
        let (printed, _, status) =
            plan(&[arguments, vec!["--json".into(), "--out".into(), file.display().to_string()]].concat());
        assert_eq!((status, &page["plan"]), (Some(0), &serde_json::from_str::<Value>(&printed).unwrap()));
        let kept = analyst.get(&format!("/api/plan/survey.toml?{query}"));
        assert_eq!(kept.text(), fs::read_to_string(&file).unwrap());
        let name = if query.contains("name=a-b") { "survey-a-b.toml" } else { "survey.toml" };
        let disposition = format!("attachment; filename=\"{name}\"");
        assert_eq!(kept.header("content-disposition"), Some(disposition.as_str()));
    }
    // What cannot be is refused with the same sentence; what makes no sense is not asked.
    let (_, said, status) = plan(
        &"--epsilon-central 0.1 --delta 1e-9 --respondents 60 --domain 500"
            .split(' ')
            .map(str::to_owned)
            .collect::<Vec<_>>(),
    );
    let answer = analyst.get("/api/plan?epsilon_central=0.1&delta=1e-9&respondents=60&domain=500");
    let problem: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((status, answer.status), (Some(1), 422), "{said}");
    assert!(said.contains(problem["detail"].as_str().unwrap()), "{said}: {problem}");
    for wrong in ["epsilon_central=1", &format!("{PLAN}&sample=dog"), &format!("{PLAN}&domain=7")] {
        assert_eq!(analyst.get(&format!("/api/plan?{wrong}")).status, 400, "{wrong}");
    }
    // Every number has a range, of the plan and of the file alike, and who is outside is told which.
    let others = [("epsilon_central", "1"), ("delta", "1e-6"), ("respondents", "50000"), ("domain", "500")];
    for (name, range, outside) in [
        ("epsilon_central", "0.01 to 20", ["-1", "0", "20.1", "NaN", "inf", "1e400"]),
        ("delta", "0.000000000000001 to 0.01", ["0", "1e-16", "0.011", "1", "-1e-6", "x"]),
        (
            "respondents",
            "2 to 1000000000000",
            ["0", "1", "1000000000001", "18446744073709551616", "-5", "1e6"],
        ),
        (
            "domain",
            "2 to 9007199254740991",
            ["0", "1", "9007199254740992", "18446744073709551615", "-1", "2.5"],
        ),
        ("report_fragments", "1 to 64", ["0", "65", "4294967295", "4294967296", "-1", "x"]),
        ("instances", "1 to 32", ["0", "33", "4294967295", "4294967296", "-1", "x"]),
        ("hops", "1 to 16", ["0", "17", "4294967295", "4294967296", "-1", "x"]),
        ("honest_fraction", "0.01 to 1", ["0", "0.009", "1.01", "-1", "NaN", "inf"]),
        ("epoch_s", "1 to 316224000", ["0", "316224001", "18446744073709551615", "-1", "1e3", "x"]),
    ] {
        for value in outside {
            let rest = others.iter().filter(|(other, _)| *other != name);
            let rest: Vec<String> = rest.map(|(other, value)| format!("{other}={value}")).collect();
            for path in ["plan", "plan/survey.toml"] {
                let answer = analyst.get(&format!("/api/{path}?{}&{name}={value}", rest.join("&")));
                let says = format!("{name} is a number from {range}");
                assert!(answer.status == 400 && answer.text().contains(&says), "{value}: {}", answer.text());
            }
        }
    }
    let long = "x".repeat(1001);
    for (wrong, says) in [("question", "at most 1000 letters"), ("name", "at most 100 letters")] {
        let answer = analyst.get(&format!("/api/plan?{PLAN}&{wrong}={long}"));
        assert!(answer.status == 400 && answer.text().contains(says), "{}", answer.text());
    }
    let answer =
        analyst.get(&format!("/api/plan?{}&sample=zipf", PLAN.replace("domain=500", "domain=262145")));
    assert!(answer.status == 400 && answer.text().contains("at most 262144 values"), "{}", answer.text());
}

#[test]
fn a_plan_is_tried_on_a_sample() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.serve();
    let tried = |more: &str| analyst.json(&format!("/api/plan?{PLAN}&{more}"));
    let cat = tried("sample=cat&seed=3");
    // A picture decides how many values there are, and the plan is for as many.
    let (width, height) = (
        cat["sample"]["truth"]["width"].as_u64().unwrap(),
        cat["sample"]["truth"]["height"].as_u64().unwrap(),
    );
    assert_eq!(
        (&cat["domain"], &cat["plan"]["survey"]["encoding"]["domain"]),
        (&json!(width * height), &json!(width * height))
    );
    assert_eq!(base64(cat["sample"]["estimate"]["pixels"].as_str().unwrap()).len() as u64, width * height);
    assert_eq!(cat, tried("sample=cat&seed=3"));
    assert_ne!(cat["sample"]["rmse"], tried("sample=cat&seed=4")["sample"]["rmse"]);
    for sample in ["cat", "horse", "zipf", "heavy-hitters", "uniform"] {
        let page = tried(&format!("sample={sample}"));
        // Over some 500 values the RMSE has a relative deviation of about 1/sqrt(1000) = 3.2 %, and one seed is tried: it is off
        // by 8 of them with a chance below 1e-14. Values that are held add a little to the plan's error.
        let ratio =
            page["sample"]["rmse"].as_f64().unwrap() / page["plan"]["standard_error"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.3, "{sample}: {ratio}");
        if page["sample"].get("ranks").is_some() {
            let held: u64 = page["sample"]["ranks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|point| point[1].as_u64().unwrap())
                .sum();
            assert!(held <= 50_000 && held > 30_000, "{sample}: {held}");
        }
    }
}

/// What `throng plan` prints, says and ends with.
fn plan(arguments: &[String]) -> (String, String, Option<i32>) {
    let output = THRONG.command().arg("plan").args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}
