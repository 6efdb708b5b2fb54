//! The operator's dashboard over real HTTP: who sees it, what it tells, and that its numbers are those of the program.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod planner;

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use throng_account::TO_THE_END;
use throng_account::attacker::{Coalition, Exposure, RemainingPrivacy};
use throng_account::bound::Bound;
use throng_account::terms::EpochGuarantee;
use throng_analyze::Picture;
use throng_analyze::{HEAD_LEN, InstanceTally};
use throng_host::page::SECURITY;
use throng_plot::Png;
use throng_serve::analysis::{TallyFiles, plot_title};
use throng_survey::{CheckedClaim, terms};
use throng_testing::analyst::{Analyst, WIDTH};
use throng_testing::program::Program;
use throng_wire::Route;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// Everything that has data, for an analyst with a release.
fn data_paths(analyst: &Analyst) -> Vec<String> {
    let (survey, release) = (analyst.hash(), analyst.release_path());
    let mut paths = vec![
        "/api/surveys".to_owned(),
        "/api/releases".into(),
        "/api/ledger".into(),
        format!("/api/surveys/{survey}/guarantee"),
        format!("/api/plan?{PLAN}"),
        format!("/api/plan/survey.toml?{PLAN}"),
        release.clone(),
    ];
    let of_release = ["estimates", "ranks", "picture?width=16"].map(|name| format!("{release}/{name}"));
    let files =
        ["release.json", "estimates.csv", "estimates.json", "ranks.svg", "ranks.png", "picture.png?width=16"];
    paths.extend(of_release);
    paths.extend(files.map(|name| format!("{release}/files/{name}")));
    paths
}

/// The honest share that the survey plans with: no whole per cent, so that no slider of them has it by chance.
const PLANNED: f64 = 0.995;

const PAGES: [&str; 6] = ["/", "/releases", "/release", "/guarantees", "/ledger", "/planner"];
const PLAN: &str = "epsilon_central=1&delta=1e-6&respondents=50000&domain=500&report_fragments=3";

#[test]
fn only_the_operators_token_sees_data() {
    let analyst = Analyst::with_release(THRONG);
    let token = analyst.token().to_owned();
    let mut other = token.clone().into_bytes();
    other[20] = if other[20] == b'a' { b'b' } else { b'a' };
    let other = String::from_utf8(other).unwrap();
    for path in data_paths(&analyst) {
        for wrong in [None, Some(""), Some(&token[1..]), Some(&other), Some(&format!("{token}x"))] {
            let answer = analyst.call("GET", &path, wrong);
            assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("bearer")), "{path}");
            assert!(answer.text().contains("operator.token") && !answer.text().contains(&token), "{path}");
        }
        let answer = analyst.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    // Whoever has no token does not learn which paths there are, nor does a token in the address help.
    assert_eq!(analyst.call("GET", "/api/nothing", None).status, 401);
    assert_eq!(analyst.call("GET", &format!("/api/surveys?token={token}"), None).status, 401);
    assert_eq!(analyst.get("/api/nothing").status, 404);
    // Pages are the same for everyone, and have nothing of the survey in them.
    for page in PAGES {
        let answer = analyst.call("GET", page, None);
        assert!(answer.status == 200 && answer.header("content-type") == Some("text/html; charset=utf-8"));
        assert!(!answer.text().contains("drawing") && !answer.text().contains(&token));
    }
    // Tools ask as before.
    assert_eq!(analyst.call("GET", "/healthz", None).text(), "ok\n");
    // A web site whose name points to this machine gets nothing, with the token or without.
    let port = analyst.url().rsplit(':').next().unwrap().to_owned();
    for path in
        data_paths(&analyst).iter().map(String::as_str).chain(PAGES).chain(["/healthz", "/assets/main.js"])
    {
        let answer = analyst.call_as(&format!("attacker.test:{port}"), "GET", path, Some(&token));
        assert!(answer.status == 421 && answer.text().contains("urn:throng:error:host"), "{path}");
        assert!(answer.header("content-security-policy").is_some(), "{path}");
    }
    assert_eq!(
        analyst.call_as(&format!("localhost:{port}"), "GET", "/api/surveys", Some(&token)).status,
        200
    );
}

#[test]
fn every_answer_has_the_headers_and_pages_need_nothing_else() {
    let analyst = Analyst::with_release(THRONG);
    let page = analyst.call("GET", "/", None).text();
    let mut assets: Vec<String> =
        page.split('"').filter(|text| text.starts_with("assets/")).map(|text| format!("/{text}")).collect();
    assert!(assets.len() >= 3, "{page}");
    assert!(page.starts_with(throng_host::page::HEAD), "all pages have one head: {page}");
    // No script or style within the page, and nothing from elsewhere.
    assert!(!page.contains("style=") && !page.contains("<style") && !page.contains("://"), "{page}");
    assert_eq!(page.matches("<script").count(), page.matches("<script type=\"module\" src=").count());
    // All that scripts load is there.
    let mut at = 0;
    while let Some(asset) = assets.get(at).cloned() {
        at += 1;
        let answer = analyst.call("GET", &asset, None);
        assert_eq!(answer.status, 200, "{asset}");
        let tag = answer.header("etag").unwrap().to_owned();
        assert!(tag.len() > 10 && answer.header("cache-control") == Some("no-cache"), "{asset}");
        let text = answer.text();
        assert!(!text.contains("innerHTML") && !text.contains("eval("), "{asset}");
        let outside = text.split("://").skip(1).filter(|rest| !rest.starts_with("www.w3.org/2000/svg"));
        assert_eq!(outside.count(), 0, "{asset}");
        for name in text.split('"').filter(|word| word.starts_with("/assets/") && word.contains('.')) {
            if !assets.contains(&name.to_owned()) {
                assets.push(name.to_owned());
            }
        }
    }
    for name in ["surveys", "releases", "release", "guarantees", "ledger", "planner"] {
        assert_eq!(analyst.call("GET", &format!("/assets/{name}.js"), None).status, 200);
    }
    let wrong = [
        ("GET", "/nothing"),
        ("GET", "/api/nothing"),
        ("POST", "/api/surveys"),
        ("POST", "/"),
        ("GET", "/metrics"),
    ]
    .map(|(method, path)| (method, path.to_owned()));
    let right = data_paths(&analyst).into_iter().chain(PAGES.map(str::to_owned)).chain(assets);
    for (method, path) in right.map(|path| ("GET", path)).chain(wrong) {
        for token in [None, Some(analyst.token())] {
            let answer = analyst.call(method, &path, token);
            for (name, value) in &SECURITY {
                let value = value.to_lowercase();
                assert_eq!(answer.header(name.as_str()), Some(value.as_str()), "{method} {path}");
            }
            assert!(
                answer.header("cache-control").is_some() && answer.header("set-cookie").is_none(),
                "{path}"
            );
        }
    }
}

/// With one respondent more or less, what is told before a release is the same.
#[test]
fn nothing_is_counted_before_a_release() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.count("other", 3001);
    let mut told = Vec::new();
    for data in ["data", "other"] {
        analyst.serve_from(data);
        let mut surveys = analyst.json("/api/surveys");
        assert_eq!(surveys["surveys"][0]["epochs"][1]["state"], "reached");
        assert_eq!(surveys["surveys"][0]["epochs"][1]["instances"], json!(["counted", "counted", "counted"]));
        // The hops of this survey are nowhere: whether that was noticed yet is a matter of time.
        surveys["now_s"] = Value::Null;
        for path in surveys["surveys"][0]["paths"].as_array_mut().unwrap() {
            for hop in path["hops"].as_array_mut().unwrap() {
                hop["state"] = Value::Null;
                hop["reason"] = Value::Null;
            }
        }
        let guarantee = analyst.json(&format!("/api/surveys/{}/guarantee", analyst.hash()));
        let ledger = analyst.json("/api/ledger");
        assert_eq!(ledger["populations"][0]["epsilon_spent"], 0.0);
        assert_eq!(analyst.json("/api/releases"), json!({ "releases": [] }));
        // Digits of a time or of a hash may be the same by chance; a number is not.
        assert!(!has_number(&surveys, 3000) && !has_number(&surveys, 3001), "{surveys}");
        told.push((surveys, guarantee, ledger));
        let release = analyst.release_path();
        for path in
            ["", "/estimates", "/ranks", "/picture?width=16", "/files/estimates.csv", "/files/release.json"]
        {
            let answer = analyst.get(&format!("{release}{path}"));
            assert!(answer.status == 404 && answer.text().contains("not-released"), "{}", answer.text());
        }
        // Nor is what the analyzer keeps a file that can be asked for.
        for path in ["/files/ledger", "/files/..%2f..%2fledger", "/files/operator.token"] {
            assert_eq!(analyst.get(&format!("{release}{path}")).status, 404);
        }
        assert_eq!(analyst.get("/api/releases/..%2ftallies/0/1").status, 404);
    }
    assert_eq!(told[0], told[1]);
}

#[test]
fn a_survey_is_shown_with_its_parties() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.serve();
    let page = analyst.json("/api/surveys");
    let (shown, survey) = (&page["surveys"][0], analyst.survey());
    assert_eq!(shown["survey"], analyst.hash());
    assert_eq!((&shown["name"], &shown["population"]), (&json!("drawing"), &json!("artists")));
    assert_eq!(shown["respondents_min"], survey.crowd.respondents_min);
    assert_eq!(shown["epsilon_central"], survey.claim.epsilon_central);
    // Beside it is what is left whatever fails.
    let floor = CheckedClaim::check(survey).unwrap().floor.epsilon().value();
    assert_eq!((&shown["epsilon_local"], &shown["backstop"]), (&json!(floor), &json!(true)));
    assert_eq!(shown["paths"].as_array().unwrap().len(), 3);
    assert_eq!(shown["paths"][2]["hops"][1]["place"], "instance-3-hop-2");
    assert_eq!(shown["paths"][0]["epoch_signed"], analyst.epoch);
    assert_eq!(shown["epochs"][0]["state"], "collecting");
    // Nobody listens where the hops are said to be; the analyzer notices, and is ready all the same.
    loop {
        let page = analyst.json("/api/surveys");
        let hops = page["surveys"][0]["paths"][0]["hops"].as_array().unwrap();
        if hops.iter().all(|hop| hop["state"] == "fails") {
            for (hop, name) in hops.iter().zip(["instance-1-hop-1", "instance-1-hop-2"]) {
                assert!(hop["reason"].as_str().unwrap().contains(name), "{hop}");
            }
            assert_eq!((&page["ready"], &page["wrong"]), (&json!(true), &json!([])));
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Epochs of which no hop has said anything are there, and a file that cannot be read is a matter of its own epoch.
#[test]
fn every_epoch_that_is_over_is_accounted_for() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    let lines = |analyst: &Analyst| -> Vec<(u64, String, Value)> {
        let page = analyst.json("/api/surveys");
        let lines = page["surveys"][0]["epochs"].as_array().unwrap();
        let line = |line: &Value| {
            (
                line["epoch"].as_u64().unwrap(),
                line["state"].as_str().unwrap().to_owned(),
                line["instances"].clone(),
            )
        };
        lines.iter().map(line).collect()
    };
    let (epoch, all) = (analyst.epoch, |outcome: &str| json!([outcome, outcome, outcome]));
    let line = |epoch, state: &str, instances| (epoch, state.to_owned(), instances);
    fs::create_dir(analyst.path("empty")).unwrap();
    analyst.serve_from("empty");
    let running = line(epoch + 1, "collecting", all("missing"));
    assert_eq!(lines(&analyst), [running.clone(), line(epoch, "waiting", all("missing"))]);

    // Between an epoch that was destroyed and one that was counted there is one that nobody delivered.
    let hash = analyst.deployment.bundle.survey().hash();
    let (files, route) = (TallyFiles::new(&analyst.path("data"), hash), |epoch, instance| Route {
        survey: hash,
        label: 0,
        epoch,
        instance,
    });
    for instance in 1..=3 {
        files.store(&InstanceTally { route: route(epoch - 2, instance), counted: None }).unwrap();
    }
    analyst.serve();
    let before = [line(epoch - 1, "waiting", all("missing")), line(epoch - 2, "destroyed", all("destroyed"))];
    let [waiting, destroyed] = before;
    assert_eq!(
        lines(&analyst),
        [running.clone(), line(epoch, "reached", all("counted")), waiting.clone(), destroyed.clone()]
    );

    // A file that is cut off, or begins otherwise, spoils its own epoch alone.
    let file = |epoch: u64, instance: u32| {
        analyst.path(&format!("data/tallies/{}/0-{epoch}-{instance}.tally", analyst.hash()))
    };
    let bytes = fs::read(file(epoch, 1)).unwrap();
    fs::write(file(epoch, 1), &bytes[..HEAD_LEN]).unwrap();
    fs::copy(file(epoch, 2), file(epoch - 1, 2)).unwrap();
    fs::write(file(epoch - 2, 3), b"throng").unwrap();
    analyst.serve();
    assert_eq!(
        lines(&analyst),
        [
            running,
            line(epoch, "damaged", json!(["damaged", "counted", "counted"])),
            line(epoch - 1, "damaged", json!(["missing", "damaged", "missing"])),
            line(epoch - 2, "damaged", json!(["destroyed", "destroyed", "damaged"])),
        ]
    );
}

/// A core dump would hold keys, and so would the memory that a debugger of the same user reads.
#[test]
fn a_server_leaves_no_core_dump() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.serve();
    let limits = fs::read_to_string(format!("/proc/{}/limits", analyst.pid())).unwrap();
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().collect::<Vec<_>>(), ["0", "0", "bytes"], "{limits}");
}

#[test]
fn what_a_path_does_not_name_is_a_problem_like_any_other() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.serve();
    let hash = analyst.hash();
    for rest in
        ["x/1", "0/x", "0/-1", "4294967296/1", "0/1/estimates/..", "%ff/1/ranks", "0/x/files/release.json"]
    {
        let answer = analyst.get(&format!("/api/releases/{hash}/{rest}"));
        assert!([400, 404].contains(&answer.status), "{rest}: {}", answer.status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{rest}");
        let problem: Value = serde_json::from_slice(&answer.body).unwrap();
        let says = problem["detail"].as_str().unwrap();
        assert!(answer.status == 404 || says.contains("a label and an epoch are numbers"), "{problem}");
    }
}

#[test]
fn a_release_is_shown_as_it_was_published() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    let mut published = analyst.release();
    analyst.serve();
    let path = analyst.release_path();
    let page = analyst.json(&path);
    // What was printed says where the files are on this machine; what is published, in whatever copy, does not.
    let directory = published.as_object_mut().unwrap().remove("directory").unwrap();
    assert!(directory.as_str().unwrap().ends_with(&format!("0-{}", analyst.epoch)), "{directory}");
    let checked = ["survey.toml", "survey.signatures", "survey.keys", "statements", "ledger"];
    let names: Vec<&str> =
        ["estimates.csv", "estimate.png"].into_iter().chain(checked).chain(["release.json"]).collect();
    assert_eq!(published["files"], json!(names));
    assert_eq!((&page["release"], &page["picture_width"]), (&published, &json!(WIDTH)));
    let list = &analyst.json("/api/releases")["releases"];
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(
        (&list[0]["respondents"], &list[0]["epsilon_central"]),
        (&json!(3000), &published["epsilon_central"])
    );
    assert_eq!(analyst.json("/api/surveys")["surveys"][0]["epochs"][1]["state"], "released");

    // The files are those that were published.
    let dir = analyst.path("data/releases").join(analyst.hash()).join(format!("0-{}", analyst.epoch));
    for name in ["release.json", "estimates.csv"] {
        let answer = analyst.get(&format!("{path}/files/{name}"));
        assert_eq!(answer.body, fs::read(dir.join(name)).unwrap());
        let disposition = answer.header("content-disposition").unwrap();
        let called = format!("drawing-{:.8}-epoch-{}-{name}", analyst.hash(), analyst.epoch);
        assert_eq!(disposition, format!("attachment; filename=\"{called}\""));
    }
    let estimates: Vec<f64> = fs::read_to_string(dir.join("estimates.csv"))
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse().unwrap())
        .collect();
    assert_eq!(estimates.len(), 256);

    // The table, in both orders, searched and in parts.
    let number = |line: &Value| (line["value"].as_u64().unwrap(), line["estimate"].as_f64().unwrap());
    let lines = |query: &str| {
        let page = analyst.json(&format!("{path}/estimates?{query}"));
        let lines: Vec<(u64, f64)> = page["lines"].as_array().unwrap().iter().map(number).collect();
        (page["found"].as_u64().unwrap(), lines)
    };
    let by_value: Vec<(u64, f64)> = (0..).zip(estimates.iter().copied()).collect();
    assert_eq!(lines("order=value&limit=1000"), (256, by_value.clone()));
    let mut by_rank = by_value.clone();
    by_rank.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    assert_eq!(lines("offset=10&limit=7"), (256, by_rank[10..17].to_vec()));
    let with_25: Vec<(u64, f64)> =
        by_value.iter().copied().filter(|(value, _)| value.to_string().contains("25")).collect();
    assert_eq!(lines("order=value&search=25"), (with_25.len() as u64, with_25));
    let all: Vec<Value> =
        serde_json::from_slice(&analyst.get(&format!("{path}/files/estimates.json")).body).unwrap();
    assert_eq!(all.iter().map(number).collect::<Vec<_>>(), by_rank);
    let significant = all.iter().filter(|line| line["significant"] == true).count() as u64;
    assert_eq!(significant, published["significant"].as_u64().unwrap());
    assert!(significant > 20, "31 pixels have about 97 people each: {significant}");

    let ranks = analyst.json(&format!("{path}/ranks"));
    assert_eq!(ranks["points"].as_array().unwrap().iter().map(number).collect::<Vec<_>>(), by_rank);
    assert_eq!(ranks["noise_floor"], published["noise_floor"]);
    assert_eq!(ranks["noise_threshold"], published["noise_threshold"]);

    // The picture, as pixels and as a file, is the published one.
    let drawn = analyst.json(&format!("{path}/picture?width=16"));
    let picture = Picture::open(&dir.join("estimate.png")).unwrap();
    assert_eq!((&drawn["width"], &drawn["height"]), (&json!(16), &json!(16)));
    let bytes = |name: &str| base64(drawn[name].as_str().unwrap());
    // The table has three digits after the point, so a pixel may be rounded otherwise.
    let close = |a: &[u8], b: &[u8]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 1);
    assert!(close(&bytes("pixels"), picture.pixels()));
    assert_eq!(bytes("significant").iter().map(|&one| u64::from(one)).sum::<u64>(), significant);
    let kept = analyst.get(&format!("{path}/files/picture.png"));
    let kept = Picture::from_png(&kept.body).unwrap();
    assert!((kept.width(), kept.height()) == (800, 800) && kept.pixels().len() == 640_000);
    assert!(close(
        &kept.pixels().iter().copied().step_by(50).take(16).collect::<Vec<_>>(),
        &picture.pixels()[..16]
    ));
    for (width, status) in [("7", 400), ("0", 400), ("x", 400), ("256", 200)] {
        assert_eq!(analyst.get(&format!("{path}/picture?width={width}")).status, status, "{width}");
    }

    // Plots can be read.
    let svg = analyst.get(&format!("{path}/files/ranks.svg"));
    assert!(svg.text().starts_with("<svg") && svg.text().contains("noise ends at"), "{}", svg.text());
    let number = |name: &str| published[name].as_f64().unwrap();
    let title =
        plot_title(("drawing", None), analyst.epoch, number("epsilon_central"), number("epsilon_local"));
    assert!(title.contains("epsilon_central 0.") && title.contains("whatever fails epsilon "), "{title}");
    assert!(svg.text().contains(&title), "{}", svg.text());
    assert!(Picture::from_png(&analyst.get(&format!("{path}/files/ranks.png")).body).unwrap().width() > 300);

    let ledger = analyst.json("/api/ledger");
    let population = &ledger["populations"][0];
    assert_eq!(
        (&population["population"], &population["epsilon_spent"]),
        (&json!("artists"), &published["epsilon_spent"])
    );
    let (spent, left) =
        (population["epsilon_spent"].as_f64().unwrap(), population["epsilon_left"].as_f64().unwrap());
    assert!(spent > 0.0 && (spent + left - 10.0).abs() < 1e-9, "{ledger}");
    assert_eq!(population["releases"][0]["epoch"], analyst.epoch);
    assert_eq!(population["releases"][0]["epsilon_alone"], population["epsilon_spent"], "there is one");
    assert_eq!(population["releases"][0]["labels"], json!([0]));
}

#[test]
fn what_if_is_what_the_accountant_says() {
    let mut analyst = Analyst::with_tallies(THRONG, 3000);
    analyst.serve();
    let survey = analyst.survey();
    let claim = CheckedClaim::check(survey).unwrap();
    let mut central = Vec::new();
    for (bad, analyzer, honest, respondents, bound) in [
        (0, false, PLANNED, 2900, "exact"),
        (0, true, 0.5, 2900, "exact"),
        (1, true, 1.0, 2900, "exact"),
        (2, true, 1.0, 1000, "exact"),
        (3, true, 0.9, 5000, "fmt23"),
        (2, false, 0.25, 900, "exact"),
    ] {
        let query = format!(
            "instances={bad}&analyzer={analyzer}&honest_fraction={honest}&respondents={respondents}&bound={bound}"
        );
        let page = analyst.json(&format!("/api/surveys/{}/guarantee?{query}", analyst.hash()));
        let mut terms = terms(survey, 0).unwrap();
        terms.honest_fraction = honest;
        terms.bound = Bound::named(bound).unwrap();
        let kept: EpochGuarantee =
            terms.guarantee_at_least(respondents, survey.crowd.respondents_min, TO_THE_END).unwrap();
        let epsilon = kept.central.epsilon().value();
        assert_eq!(page["epsilon_central"], epsilon, "{query}");
        assert_eq!(
            (&page["delta"], &page["honest_respondents"]),
            (&json!(1e-6), &json!(kept.honest)),
            "{query}"
        );
        assert_eq!(page["epsilon_local"], claim.floor.epsilon().value());
        assert_eq!(page["epsilon_fragment"], claim.fragment.epsilon().value());
        assert_eq!(page["destroyed"], respondents < 2900);
        assert_eq!(page["planned"], query.starts_with("instances=0&analyzer=false") && honest == PLANNED);
        // Between two answers epsilon is twice as large, and delta grows by the way over none.
        let delta = page["replacement"]["delta"].as_f64().unwrap();
        assert!(delta >= 1e-6 * (1.0 + epsilon.exp()) && delta < 1e-6 * (1.0 + epsilon.exp()) * 1.000_001);
        for (name, removal) in [("local", &page["epsilon_local"]), ("fragment", &page["epsilon_fragment"])] {
            let twice = page["replacement"][format!("epsilon_{name}")].as_f64();
            assert_eq!(twice, removal.as_f64().map(|epsilon| 2.0 * epsilon), "{name}");
        }
        assert_eq!(page["replacement"]["epsilon_central"], 2.0 * epsilon);
        let exposure = Exposure { central: kept.central, ..claim.exposure };
        let compromised = match analyzer {
            true => Coalition::AnalyzerAndInstances(bad),
            false => Coalition::Instances(bad),
        };
        let left = match exposure.left(compromised).unwrap() {
            RemainingPrivacy::Central(left) => {
                json!({ "kind": "central", "epsilon": left.epsilon().value(), "delta": 1e-6 })
            }
            RemainingPrivacy::ParticipationOnly => json!({ "kind": "participation-only" }),
            RemainingPrivacy::Local { fragments, exposed, with_release } => json!({
                "kind": "local",
                "fragments": fragments,
                "epsilon": exposed.epsilon().value(),
                "epsilon_with_release": with_release.epsilon().value(),
            }),
        };
        assert_eq!(page["left"], left, "{query}");
        central.push(epsilon);
    }
    // Where nothing else is asked it is what a respondent's own accountant finds, which is within the claim.
    let planned = analyst.json(&format!("/api/surveys/{}/guarantee", analyst.hash()));
    assert_eq!((&planned["planned"], &planned["honest_fraction"]), (&json!(true), &json!(PLANNED)));
    assert_eq!(planned["epsilon_central"], claim.central.epsilon().value());
    assert!(claim.central.epsilon() <= claim.claimed.epsilon() && claim.claimed.epsilon().value() == 1.0);
    assert_eq!(planned["honest_respondents"], claim.promise.honest_respondents);
    // Fewer honest people hide each other less well, and so do fewer people.
    assert!(central[1] > central[0] && central[3] > central[0] && central[5] > central[3], "{central:?}");
    for (query, says) in [
        ("instances=4", "instances is a number from 0 to 3"),
        ("honest_fraction=0", "from 0.001 to 1"),
        ("respondents=0", "from 1 to 1000000000000"),
        ("respondents=1000000000001", "from 1 to 1000000000000"),
        ("bound=magic", "magic"),
        ("honest=1", "honest_fraction"),
    ] {
        let answer = analyst.get(&format!("/api/surveys/{}/guarantee?{query}", analyst.hash()));
        assert!(answer.status == 400 && answer.text().contains(says), "{query}: {}", answer.text());
    }
}

/// Whether a number is anywhere in it.
fn has_number(json: &Value, number: u64) -> bool {
    match json {
        Value::Array(all) => all.iter().any(|one| has_number(one, number)),
        Value::Object(all) => all.values().any(|one| has_number(one, number)),
        one => one.as_u64() == Some(number),
    }
}

fn base64(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}
