//! A last hop that serves something else, and strangers who come for batches.

use hyper::{HeaderMap, Method};
use serde_json::json;
use throng_host::keygen::Party;
use throng_host::net::client::{Client, Limits};
use throng_host::net::{OutgoingBody, paths};
use throng_shuffle::Channel;
use throng_testing::crowd::{
    batch, everyone, ledger, release, table, tally, two_instances, until_taken, waiting,
};
use throng_testing::patience::until;
use throng_testing::town::Town;
use throng_wire::peel::{open_body, peel};
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{
    BatchCount, Digest, EpochStatement, ForwardedCount, HopContent, LayerKeys, Layout, Outcome, Place, Route,
    Signed, SigningKey, Stop,
};

use crate::THRONG;
use crate::fake_hop::{FakeHop, ServedBatch};

const BAD: Place = Place::Hop { instance: 1, hop: 2 };

/// A batch as it travels.
#[derive(Clone)]
struct Batch {
    statements: Vec<EpochStatement>,
    count: BatchCount,
    envelopes: Vec<u8>,
}

impl Batch {
    fn read(bytes: &[u8], hops: usize) -> Self {
        let (statements, rest) = bytes.split_at(STATEMENT_LEN * hops);
        let (count, envelopes) = rest.split_first_chunk().unwrap();
        let read = |one| *Signed::<EpochStatement>::from_bytes(one).unwrap().claimed();
        Self {
            statements: statements.chunks_exact(STATEMENT_LEN).map(read).collect(),
            count: BatchCount::from_bytes(count),
            envelopes: envelopes.to_vec(),
        }
    }

    /// The same with other envelopes, as the last hop would state them.
    fn with(mut self, envelopes: Vec<u8>, length: usize) -> Self {
        if let Some(Outcome::Released { forwarded, batch, .. }) =
            self.statements.last_mut().map(|last| &mut last.outcome)
        {
            self.count = BatchCount::salted([3; 32], (envelopes.len() / length) as u64);
            *forwarded = ForwardedCount::Committed(self.count.commitment());
            *batch = Digest::of(&envelopes);
        }
        self.envelopes = envelopes;
        self
    }

    /// The bytes, with statements signed by these.
    fn signed(&self, keys: &[&SigningKey]) -> Vec<u8> {
        let sign = |(statement, key): (&EpochStatement, &&SigningKey)| {
            Signed::new(*statement, key).unwrap().to_bytes()
        };
        let statements = self.statements.iter().zip(keys).flat_map(sign);
        statements.chain(self.count.to_bytes()).chain(self.envelopes.iter().copied()).collect()
    }
}

fn party(town: &Town, place: Place) -> Party {
    Party::read(&town.deployment.dirs[&place]).unwrap()
}

/// What the analyzer of a survey would get from a respondent.
fn envelopes(town: &Town, route: Route, value: u32) -> Vec<u8> {
    let body = town.body(route, value);
    let layout = Layout::of(town.deployment.bundle.survey().survey());
    let keys = |hop| {
        let text = std::fs::read_to_string(town.path(Place::hop(route.instance, hop), "layer.keys"));
        LayerKeys::from_file(&text.unwrap()).unwrap()
    };
    let opened = open_body(&route, &layout, &keys(1), &body).unwrap();
    let second = keys(2);
    let peeled = opened.chunks_exact(layout.envelope_len(Stop::Hop(2))).filter_map(|envelope| {
        match peel(&route, &layout, 2, &second, envelope).unwrap() {
            HopContent::Envelope(inner) => Some(inner),
            HopContent::Chaff => None,
        }
    });
    peeled.flatten().collect()
}

/// Attack by a last hop: whatever it serves that is not the batch that all hops stated is not counted, stored or
/// acknowledged; the reason is in the log, and the honest instance goes on.
#[test]
fn what_a_bad_hop_serves_is_not_counted() {
    let mut town = two_instances(THRONG);
    town.start_all();
    let answered = everyone(&mut town, 8, |_, _| {});
    let epoch = answered.epoch;
    let bytes = batch(&town, 1, epoch);
    town.kill(BAD);
    let fake = FakeHop::start(&town, BAD);
    let honest = Batch::read(&bytes, 2);
    let length = Layout::of(town.deployment.bundle.survey().survey()).envelope_len(Stop::Analyzer);
    let (first, own, stranger) =
        (party(&town, Place::hop(1, 1)), party(&town, BAD), party(&town, Place::hop(2, 2)));
    let keys = [first.signing_key(), own.signing_key()];
    assert_eq!(honest.signed(&keys), bytes, "signatures draw no randomness");

    // A hop that stalls keeps nobody else waiting.
    fake.script().waiting = vec![Channel { label: 0, epoch }];
    fake.script().batch = ServedBatch::Stalled(bytes[..bytes.len() - 1].to_vec());
    town.start(Place::Analyzer, None);
    until("the bad hop was asked", || fake.script().pulled > 0);
    until_taken(&town, &[2], epoch);
    assert!(waiting(&town, 1, epoch).is_none());
    town.kill(Place::Analyzer);
    fake.script().waiting.clear();
    town.start(Place::Analyzer, None);

    for (served, reason) in attacks(&honest, &bytes, &keys, stranger.signing_key(), length) {
        refused(&town, &fake, epoch, served, reason);
    }
    let log = town.log(Place::Analyzer);
    assert!(log.lines().all(|line| line.len() < 600), "no contents: {log}");
    assert_eq!(release(&town, epoch)["instances_present"], json!([2]), "the honest one");

    counted_once_and_never_replaced(&town, &fake, epoch, &honest, &keys, length);
    assert_eq!(table(&release(&town, epoch)), answered.in_memory(&[1, 2]));
    assert_eq!(ledger(&town).len(), 1);
}

/// A batch that its last hop has erased is missing for good: that is said once, nothing is tried again, and the release is
/// made of the others.
#[test]
fn a_batch_that_is_gone_is_missing() {
    let mut town = two_instances(THRONG);
    town.start_all();
    let epoch = everyone(&mut town, 8, |_, _| {}).epoch;
    batch(&town, 1, epoch);
    town.kill(BAD);
    let fake = FakeHop::start(&town, BAD);
    fake.script().waiting = vec![Channel { label: 0, epoch }];
    fake.script().batch = ServedBatch::Gone;
    town.start(Place::Analyzer, None);
    until("it was asked for", || fake.script().pulled > 0);
    until_taken(&town, &[2], epoch);
    fake.script().asked = 0;
    until("it was listed again", || fake.script().asked > 2);
    assert_eq!(fake.script().pulled, 1);
    let log = town.log(Place::Analyzer);
    let said = |event: &str| log.lines().filter(|line| line.contains(event)).count();
    assert_eq!((said("batch-missing"), said("work-failed")), (1, 0), "{log}");
    assert_eq!(release(&town, epoch)["instances_present"], json!([2]));
}

/// Everything that a bad last hop may try, and what the analyzer says.
fn attacks(
    honest: &Batch,
    bytes: &[u8],
    keys: &[&SigningKey; 2],
    stranger: &SigningKey,
    length: usize,
) -> Vec<(ServedBatch, &'static str)> {
    let mut changed = bytes.to_vec();
    *changed.last_mut().unwrap() ^= 1;
    // A count in the first hop's statement, without its key.
    let mut count = bytes.to_vec();
    count[60] ^= 1;
    // The crowd, in its own.
    let mut crowd = honest.clone();
    if let Outcome::Released { respondents, .. } = &mut crowd.statements[1].outcome {
        *respondents += 1;
    }
    // Both of its instance's hops may agree on more than there can be.
    let mut huge = honest.clone();
    let sent = u64::MAX / 9 * 9;
    huge.count = BatchCount::salted([3; 32], sent);
    for statement in &mut huge.statements {
        if let Outcome::Released { respondents, received, forwarded, .. } = &mut statement.outcome {
            (*respondents, *received) = (sent / 9, Some(sent));
            *forwarded = match statement.hop {
                1 => ForwardedCount::Told(sent),
                _ => ForwardedCount::Committed(huge.count.commitment()),
            };
        }
    }
    // A number that it has not committed to, and one that everybody could read.
    let other_count = Batch { count: BatchCount::salted([3; 32], 1), ..honest.clone() };
    let mut telling = honest.clone();
    telling.count = BatchCount::told(honest.count.envelopes());
    if let Outcome::Released { forwarded, .. } = &mut telling.statements[1].outcome {
        *forwarded = ForwardedCount::Told(honest.count.envelopes());
    }
    let mut older = honest.clone();
    older.statements.iter_mut().for_each(|statement| statement.route.epoch -= 1);
    let elsewhere = two_instances(THRONG);
    let mut foreign = honest.clone();
    for statement in &mut foreign.statements {
        statement.route.survey = elsewhere.deployment.bundle.survey().hash();
    }
    let envelope = &honest.envelopes[..length];
    let fewer = honest.envelopes[length..].to_vec();
    vec![
        (ServedBatch::Bytes(changed), "it has another hash"),
        (ServedBatch::Bytes(count), "is not signed by the key"),
        (ServedBatch::Bytes(crowd.signed(keys)), "a hop checked another crowd"),
        (ServedBatch::Bytes(huge.signed(keys)), "it is longer than any batch can be"),
        (ServedBatch::Bytes(other_count.signed(keys)), "it has committed to another number of envelopes"),
        (ServedBatch::Bytes(telling.signed(keys)), "a hop tells a number that tells of fragments"),
        (ServedBatch::Bytes(older.signed(keys)), "another epoch, label, instance or survey"),
        (ServedBatch::Bytes(foreign.signed(keys)), "survey"),
        (ServedBatch::Bytes(honest.signed(&[keys[0], stranger])), "is not signed by the key"),
        (ServedBatch::Bytes(honest.signed(&[keys[1], keys[0]])), "is not signed by the key"),
        (ServedBatch::Bytes([bytes, envelope].concat()), "it is longer"),
        (ServedBatch::Bytes(Batch { envelopes: fewer, ..honest.clone() }.signed(keys)), "it is shorter"),
        (ServedBatch::Bytes(bytes[..bytes.len() - 1].to_vec()), "it is shorter"),
        (ServedBatch::Bytes(bytes[..STATEMENT_LEN].to_vec()), "ends before its statements do"),
        (ServedBatch::Bytes(bytes[STATEMENT_LEN..].to_vec()), ""),
        (ServedBatch::Bytes(vec![0; 2 * STATEMENT_LEN]), ""),
        (ServedBatch::Bytes(Vec::new()), "ends before its statements do"),
        (ServedBatch::Endless(bytes.to_vec()), "it is longer"),
        (ServedBatch::Endless(vec![0]), ""),
        (ServedBatch::Broken(bytes[..bytes.len() / 2].to_vec(), bytes.len() as u64), "broke"),
        (ServedBatch::Broken(bytes.to_vec(), bytes.len() as u64 + 1), ""),
    ]
}

/// Serves something once, and sees it refused.
fn refused(town: &Town, fake: &FakeHop, epoch: u64, served: ServedBatch, reason: &str) {
    let lines = || town.log(Place::Analyzer).lines().map(str::to_owned).collect::<Vec<_>>();
    let before = lines().len();
    {
        let mut script = fake.script();
        (script.batch, script.waiting) = (served, vec![Channel { label: 0, epoch }]);
    }
    let mut said = String::new();
    until(reason, || {
        let found = lines().into_iter().skip(before).find(|line| line.contains(&epoch.to_string()));
        said = found.unwrap_or_default();
        !said.is_empty()
    });
    assert!(said.contains(reason) && said.contains("\"instance\":1"), "{reason:?} is not why: {said}");
    assert!(waiting(town, 1, epoch).is_none() && tally(town, 1, epoch).is_none(), "{said}");
    assert_eq!(fake.script().acknowledged, [], "{said}");
    // A round without a fault, so that the next one does not wait.
    fake.script().waiting.clear();
    fake.script().asked = 0;
    until("it is asked again", || fake.script().asked > 0);
}

/// The right batch is counted; after that neither it nor another one changes anything.
fn counted_once_and_never_replaced(
    town: &Town,
    fake: &FakeHop,
    epoch: u64,
    honest: &Batch,
    keys: &[&SigningKey; 2],
    length: usize,
) {
    let digest = Digest::of(&honest.envelopes).as_bytes().to_vec();
    {
        let mut script = fake.script();
        (script.batch, script.pulled) = (ServedBatch::Bytes(honest.signed(keys)), 0);
        script.waiting = vec![Channel { label: 0, epoch }, Channel { label: 7, epoch }];
    }
    // It is still listed after it was acknowledged.
    until("it is acknowledged again and again", || fake.script().acknowledged.len() > 2);
    let stored = waiting(town, 1, epoch).unwrap();
    assert_eq!(fake.script().pulled, 1, "it was read once");
    let other = honest.clone().with(honest.envelopes[length..].to_vec(), length);
    {
        let mut script = fake.script();
        script.batch = ServedBatch::Bytes(other.signed(keys));
        script.content_with = Some(Digest::of(&other.envelopes).as_bytes().to_vec());
        script.acknowledged.clear();
    }
    until("the other one is not acknowledged", || !fake.script().acknowledged.is_empty());
    let route = town.route(1, epoch);
    assert!(fake.script().acknowledged.iter().all(|ack| *ack == (route, digest.clone())));
    assert_eq!((waiting(town, 1, epoch), fake.script().pulled), (Some(stored), 1));
    assert!(town.log(Place::Analyzer).contains("the survey has no such label"));
}

/// A last hop that replaces all envelopes by those of another survey, and states that, can keep its instance's answers
/// back; but nothing of what it puts in their place is counted.
#[test]
fn envelopes_of_another_survey_are_rejected_one_by_one() {
    let mut town = two_instances(THRONG);
    let elsewhere = town.elsewhere();
    town.start_all();
    let answered = everyone(&mut town, 8, |_, _| {});
    let epoch = answered.epoch;
    let bytes = batch(&town, 1, epoch);
    town.kill(BAD);
    let fake = FakeHop::start(&town, BAD);
    let length = Layout::of(town.deployment.bundle.survey().survey()).envelope_len(Stop::Analyzer);
    let mut foreign = Vec::new();
    for value in 0..5 {
        foreign.extend(envelopes(&elsewhere, elsewhere.route(1, epoch), value));
    }
    assert_eq!(foreign.len(), 5 * length);
    let (first, own) = (party(&town, Place::hop(1, 1)), party(&town, BAD));
    let replaced = Batch::read(&bytes, 2).with(foreign, length);
    {
        let mut script = fake.script();
        script.batch = ServedBatch::Bytes(replaced.signed(&[first.signing_key(), own.signing_key()]));
        script.waiting = vec![Channel { label: 0, epoch }];
    }
    town.start(Place::Analyzer, None);
    until_taken(&town, &[1, 2], epoch);
    let released = release(&town, epoch);
    let counted = tally(&town, 1, epoch).unwrap().counted.unwrap();
    assert_eq!(counted.tally.counts().sum::<u64>(), 0, "nothing is in the sums");
    assert_eq!(counted.rejected.seal, 5);
    assert_eq!(released["rejected"]["seal"], 5);
}

/// Who may take a batch: nobody but the analyzer whose certificate its address names.
#[test]
fn a_wrong_analyzer_gets_nothing() {
    let mut town = two_instances(THRONG);
    town.start_all();
    let answered = everyone(&mut town, 8, |_, _| {});
    let route = town.route(2, answered.epoch);
    let last = Place::hop(2, 2);
    batch(&town, 2, answered.epoch);
    let elsewhere = two_instances(THRONG);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let wrong = [
        Some(party(&elsewhere, Place::Analyzer).into_identity()),
        Some(party(&town, Place::hop(1, 2)).into_identity()),
        None,
    ];
    for identity in wrong {
        let client = Client::new(identity, Limits::default());
        for (method, path, body) in [
            (Method::GET, paths::waiting(route.survey, 2), vec![]),
            (Method::GET, paths::path(&route, "batch"), vec![]),
            (Method::POST, paths::path(&route, "ack"), Digest::of(&[]).as_bytes().to_vec()),
        ] {
            let (status, answer) = runtime.block_on(async {
                let body = OutgoingBody::bytes(body);
                let reply = client.request(town.address(last), method, &path, HeaderMap::new(), body).await;
                let reply = reply.unwrap();
                (reply.status.as_u16(), String::from_utf8(reply.bytes().await.unwrap()).unwrap())
            });
            assert_eq!(status, 403, "{path}");
            let told = answer.contains(&answered.epoch.to_string()) || answer.contains("label");
            assert!(!told && answer.contains("party"), "{answer}");
        }
    }
    town.start(Place::Analyzer, None);
    until_taken(&town, &[1, 2], answered.epoch);
    assert_eq!(table(&release(&town, answered.epoch)), answered.in_memory(&[1, 2]));
}
