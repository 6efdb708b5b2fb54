//! The examiner: first hops that look at what they are given, answer as a hop would, and note what is wrong.

use std::collections::BTreeMap;

use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Version};
use getrandom::rand_core::CryptoRng;
use throng_wire::receipt::time_bucket;
use throng_wire::{Digest, Layout, Place, Receipt, ReceiptTree, Route};

use super::body::{self, OpenedBody};
use super::rehearsal::Rehearsal;
use super::verdict::{Finding, Rule, SeenBody, Verdict};
use throng_host::net::{Problem, paths};

/// All first hops of a rehearsal, and what they have seen. Their first answers are bad ones, to see what a client makes of
/// them: odd instances say that they are about to stop, even ones sign another body.
#[derive(Debug)]
pub struct Examiner {
    rehearsal: Rehearsal,
    epoch: Option<u64>,
    taken: BTreeMap<u32, TakenBody>,
    findings: Vec<Finding>,
    progress: Vec<String>,
}

/// The body that a hop has of the one respondent.
#[derive(Debug)]
struct TakenBody {
    bytes: Vec<u8>,
    opened: OpenedBody,
    tries: u32,
    first_ms: u64,
    answered_ms: u64,
    acknowledged: bool,
}

impl Examiner {
    /// The first hops of a rehearsal.
    pub fn new(rehearsal: Rehearsal) -> Self {
        let (findings, progress) = (Vec::new(), Vec::new());
        Self { rehearsal, epoch: None, taken: BTreeMap::new(), findings, progress }
    }

    /// What they are hops of.
    pub fn rehearsal(&self) -> &Rehearsal {
        &self.rehearsal
    }

    /// What has happened since this was last asked for, to be shown to whoever waits.
    pub fn progress(&mut self) -> Vec<String> {
        std::mem::take(&mut self.progress)
    }

    /// The instances that have not given a good receipt yet.
    pub fn waits_for(&self) -> Vec<u32> {
        let done = |instance: &u32| self.taken.get(instance).is_some_and(|taken| taken.acknowledged);
        self.instances().filter(|instance| !done(instance)).collect()
    }

    /// When there is nothing to wait for any more: the end of the epoch that was answered.
    pub fn end_ms(&self) -> Option<u64> {
        let survey = self.rehearsal.survey().survey();
        Some(survey.epoch_end_s(self.epoch?).saturating_mul(1000))
    }

    /// Answers a request to the first hop of an instance. `body` is the problem that reading it ended with, if it did.
    pub fn take(
        &mut self,
        instance: u32,
        head: &Parts,
        body: Result<&[u8], Problem>,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Problem> {
        let answered = self.answer(instance, head, body, now_ms, rng);
        let what = match &answered {
            Ok(_) if self.taken.get(&instance).is_some_and(|taken| taken.acknowledged) => {
                "a receipt".to_owned()
            }
            Ok(_) => "a receipt for another body, to see whether it is checked".to_owned(),
            Err(problem) => problem.to_string(),
        };
        self.progress.push(format!("instance {instance}: answered {what}"));
        answered
    }

    fn answer(
        &mut self,
        instance: u32,
        head: &Parts,
        body: Result<&[u8], Problem>,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Problem> {
        let route = self.route(instance, head)?;
        self.check_headers(instance, head)?;
        self.check_token(instance, head)?;
        let body = match body {
            Ok(body) => body,
            Err(problem) => {
                self.wrong(instance, Rule::Length, problem.to_string());
                return Err(problem);
            }
        };
        self.check_time(&route, now_ms)?;
        let layout = Layout::of(self.rehearsal.survey().survey());
        if let Some(what) = body::check_length(&layout, body.len()) {
            self.wrong(instance, Rule::Length, what.clone());
            return Err(Problem::new(StatusCode::BAD_REQUEST, "length", what));
        }
        self.keep(&route, body, now_ms)?;
        self.receipt(&route, body, now_ms, rng)
    }

    /// What was answered is over: all that was found, and what is missing.
    pub fn verdict(mut self) -> Verdict {
        for instance in self.waits_for() {
            let what = match self.taken.get(&instance) {
                None => "no body came: every instance gets one, whatever there is to say (section 5)",
                Some(_) if instance % 2 == 1 => {
                    "the same bytes did not come again after a 503 (sections 9 and 12)"
                }
                Some(_) => {
                    "the same bytes did not come again, though the receipt was for another body: a receipt counts if it \
                     verifies and names the hash of what was sent (section 6)"
                }
            };
            self.wrong(instance, Rule::Retry, what.into());
        }
        self.check_bodies();
        let seen = |(&instance, taken): (&u32, &TakenBody)| {
            let mut fragments = taken.opened.fragments.clone();
            fragments.sort_unstable();
            SeenBody {
                instance,
                bytes: taken.bytes.len(),
                tries: taken.tries,
                acknowledged: taken.acknowledged,
                fragments,
                chaff: taken.opened.chaff.len(),
            }
        };
        let bodies = self.taken.iter().map(seen).collect();
        let notes = self.notes();
        let mut findings = self.findings;
        findings.sort_by_key(|finding| (finding.instance, finding.rule));
        Verdict {
            right: findings.is_empty(),
            survey: self.rehearsal.survey().hash().to_string(),
            epoch: self.epoch,
            bodies,
            findings,
            notes,
        }
    }

    fn instances(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.rehearsal.survey().survey().delivery.instances
    }

    fn wrong(&mut self, instance: u32, rule: Rule, what: String) {
        let same = |finding: &&mut Finding| {
            (finding.instance, finding.rule) == (instance, rule) && finding.what == what
        };
        if let Some(finding) = self.findings.iter_mut().find(same) {
            finding.times += 1;
            return;
        }
        self.progress.push(format!("instance {instance}: WRONG: {what}"));
        self.findings.push(Finding { instance, rule, what, times: 1 });
    }

    /// The route that a path names, if it is one of this door.
    fn route(&mut self, instance: u32, head: &Parts) -> Result<Route, Problem> {
        let survey = self.rehearsal.survey().hash();
        let unknown = |what: &str| Problem::new(StatusCode::NOT_FOUND, "unknown", what.to_owned());
        let what = match paths::upload(head.uri.path()) {
            _ if head.uri.query().is_some() => "the path has a query".to_owned(),
            None => format!(
                "there is nothing at this path: bodies go to \
                 /v1/surveys/{survey}/instances/{instance}/labels/0/epochs/EPOCH/body, numbers without leading zeros (section 9)"
            ),
            Some(route) if route.survey != survey => {
                "the path has the hash of another survey: hash the canonical JSON, which is in survey.json (section 1)".into()
            }
            Some(route) if route.instance != instance => {
                format!("the path names instance {}, and this is the address of {instance}", route.instance)
            }
            Some(route) if route.label != 0 => "the survey has no labels: the label is 0".into(),
            Some(_) if head.method != Method::POST => {
                self.wrong(instance, Rule::Request, "bodies are sent by POST".into());
                return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "bodies are sent by POST"));
            }
            Some(route) => return Ok(route),
        };
        self.wrong(instance, Rule::Request, what.clone());
        Err(unknown(&what))
    }

    fn check_headers(&mut self, instance: u32, head: &Parts) -> Result<(), Problem> {
        if head.version != Version::HTTP_11 {
            self.wrong(instance, Rule::Request, "the request is not HTTP/1.1 (section 9)".into());
        }
        if head.headers.contains_key(CONTENT_ENCODING) {
            let what = "the body has a content encoding; send it as it is (section 9)";
            self.wrong(instance, Rule::Request, what.into());
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding", what));
        }
        let kind = head.headers.get(CONTENT_TYPE).map(axum::http::HeaderValue::as_bytes);
        if kind != Some(b"application/octet-stream") {
            let what = "the Content-Type of a body is application/octet-stream (section 9)";
            self.wrong(instance, Rule::Request, what.into());
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "type", what));
        }
        Ok(())
    }

    fn check_token(&mut self, instance: u32, head: &Parts) -> Result<(), Problem> {
        let place = Place::hop(instance, 1);
        let token = |place: Place| {
            self.rehearsal.credential().token(&self.rehearsal.survey().hash(), place).to_text()
        };
        let right = token(place);
        let shown: Vec<&[u8]> =
            head.headers.get_all(AUTHORIZATION).iter().map(|value| value.as_bytes()).collect();
        let secret = self.rehearsal.credential().to_file();
        let what = match shown[..] {
            [] => "there is no Authorization: it is Bearer and the token for this hop".to_owned(),
            [one] if one == format!("Bearer {}", *right).as_bytes() => return Ok(()),
            [one] => match one.strip_prefix(b"Bearer ") {
                None => "the Authorization does not begin with \"Bearer \"".into(),
                Some(text) if text.eq_ignore_ascii_case(right.as_bytes()) => {
                    "the token has upper-case digits: hex is lower-case".into()
                }
                Some(text) if secret.lines().nth(1).is_some_and(|secret| secret.as_bytes() == text) => {
                    "the credential's secret itself was sent: it never leaves the respondent; a token is made of it for each \
                     first hop"
                        .into()
                }
                Some(text) if text.len() != 64 => format!("the token has {} characters, and should have 64", text.len()),
                Some(text) => {
                    let others = self.rehearsal.survey().survey().places().filter(|&other| other != place);
                    match others.into_iter().find(|&other| token(other).as_bytes() == text) {
                        Some(other) => format!("the token is the one for {other}: every first hop has another"),
                        None => "the token is not HMAC-SHA256(secret, \"throng-v1 credential\" | 0x00 | survey hash | place)".into(),
                    }
                }
            },
            _ => "there are several Authorization headers".into(),
        };
        let what = format!("{what} (section 8)");
        self.wrong(instance, Rule::Credential, what.clone());
        Err(Problem::new(StatusCode::UNAUTHORIZED, "credential", what))
    }

    fn check_time(&mut self, route: &Route, now_ms: u64) -> Result<(), Problem> {
        let now = self.rehearsal.survey().survey().epoch_at(now_ms / 1000);
        if route.epoch == now {
            return Ok(());
        }
        let (status, name, when) = match route.epoch < now {
            true => (StatusCode::CONFLICT, "closed", "is over"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "early", "has not begun"),
        };
        let what = format!(
            "epoch {} {when}, and this is epoch {now}: a body is sent in its epoch, which is floor(t / epoch_s) (section 12)",
            route.epoch
        );
        self.wrong(route.instance, Rule::Time, what.clone());
        Err(Problem::new(status, name, what).at_s(now_ms / 1000))
    }

    /// Keeps the first bytes that come, and looks into them; others are refused.
    fn keep(&mut self, route: &Route, body: &[u8], now_ms: u64) -> Result<(), Problem> {
        let instance = route.instance;
        let epoch = *self.epoch.get_or_insert(route.epoch);
        let conflict = |what: &str| Problem::new(StatusCode::CONFLICT, "conflict", what.to_owned());
        if epoch != route.epoch {
            let what = "the bodies of one answer are for one epoch, and another one was for an earlier one (section 12)";
            self.wrong(instance, Rule::Time, what.into());
            return Err(conflict(what));
        }
        if let Some(taken) = self.taken.get_mut(&instance) {
            if taken.bytes != body {
                let what = "other bytes than before were sent for this epoch: what is sent again are the same bytes, and nothing is \
                            sealed or drawn anew (section 5)";
                self.wrong(instance, Rule::Retry, what.into());
                return Err(conflict(what));
            }
            taken.tries += 1;
            let waited_ms = now_ms.saturating_sub(taken.answered_ms);
            if taken.tries == 2 && waited_ms < PAUSE_MS {
                let what = format!(
                    "the same bytes came again after {waited_ms} ms: wait half a second to a second after the first failure, and no \
                     less than Retry-After says (section 9)"
                );
                self.wrong(instance, Rule::Retry, what);
            }
            return Ok(());
        }
        let opened = body::open(&self.rehearsal, *route, body);
        for (rule, what) in &opened.mistakes {
            self.wrong(instance, *rule, what.clone());
        }
        if opened.mistakes.is_empty() {
            self.progress
                .push(format!("instance {instance}: all layers of a body of {} bytes open", body.len()));
        }
        let bytes = body.to_vec();
        let taken =
            TakenBody { bytes, opened, tries: 1, first_ms: now_ms, answered_ms: now_ms, acknowledged: false };
        self.taken.insert(instance, taken);
        Ok(())
    }

    /// The first answer is a bad one; then there is a receipt.
    fn receipt(
        &mut self,
        route: &Route,
        body: &[u8],
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Problem> {
        let survey = self.rehearsal.survey().survey();
        let bucket = time_bucket(survey, now_ms / 1000);
        let key = self.rehearsal.signing(Place::hop(route.instance, 1));
        let mut signed = |body: Digest| {
            let receipt = Receipt { route: *route, body, time_bucket: bucket };
            ReceiptTree::new(vec![receipt], rng).sign(key).receipt(0).to_bytes()
        };
        let (good, bad) = (signed(Digest::of(body)), signed(Digest::of(b"another body")));
        let Some(taken) = self.taken.get_mut(&route.instance) else { return Ok(good) };
        taken.answered_ms = now_ms;
        if taken.tries > 1 {
            taken.acknowledged = true;
            return Ok(good);
        }
        if route.instance.is_multiple_of(2) {
            return Ok(bad);
        }
        let detail = "this server is about to stop (to see whether the same bytes come again)";
        Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail).after_s(1))
    }

    /// What only all bodies together show, and which fragments are where they belong.
    fn check_bodies(&mut self) {
        let instances = self.rehearsal.survey().survey().delivery.instances;
        let mut wrong = Vec::new();
        for (&instance, taken) in &self.taken {
            let mut seen = Vec::new();
            for &attribute in &taken.opened.fragments {
                if attribute % instances + 1 != instance {
                    let what = format!(
                        "a fragment of an attribute that belongs to instance {}: index j goes to position j mod K (section 12)",
                        attribute % instances + 1
                    );
                    wrong.push((instance, Rule::Routing, what));
                }
                if seen.contains(&attribute) {
                    let what = "two fragments are of one attribute: attribute fragments are sent once each (section 12)";
                    wrong.push((instance, Rule::Content, what.into()));
                }
                seen.push(attribute);
            }
        }
        let mut encs: Vec<(&Vec<u8>, u32)> = self
            .taken
            .iter()
            .flat_map(|(&at, taken)| taken.opened.encs.iter().map(move |enc| (enc, at)))
            .collect();
        encs.sort_unstable();
        if let Some(pair) = encs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let what = "an encapsulated key occurs twice: every layer is a Seal of its own, with a fresh ephemeral key (section 4)";
            wrong.push((pair[1].1, Rule::Seal, what.into()));
        }
        let chaff: Vec<Vec<u8>> = self.taken.values().flat_map(|taken| taken.opened.chaff.clone()).collect();
        let epoch = self.epoch.unwrap_or_default();
        if let Some(what) = body::check_chaff(&self.rehearsal, epoch, &chaff)
            && let Some(&instance) = self.taken.keys().next()
        {
            wrong.push((instance, Rule::Chaff, what.into()));
        }
        wrong.into_iter().for_each(|(instance, rule, what)| self.wrong(instance, rule, what));
    }

    /// What chance may have done.
    fn notes(&self) -> Vec<String> {
        let times: Vec<u64> = self.taken.values().map(|taken| taken.first_ms).collect();
        let apart = times.iter().max().zip(times.iter().min()).map_or(0, |(last, first)| last - first);
        let epoch_ms = self.rehearsal.survey().survey().epoch_s.saturating_mul(1000);
        if times.len() > 1 && apart < epoch_ms / 50 {
            return vec![format!(
                "all bodies came within {apart} ms: each has a time of its own, uniform over the window, and so near one another \
                 they are by chance once in fifty answers or less (section 12)"
            )];
        }
        Vec::new()
    }
}

/// Half of what a client has to wait. Its clock began before the answer came.
const PAUSE_MS: u64 = 400;
