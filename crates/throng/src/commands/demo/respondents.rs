//! The respondents of the demo: each with a value, a credential and connections of their own.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use rayon::prelude::*;
use throng_encode::{Body, EpochChoice, Schedule, answer};
use throng_wire::{Channel, Credential, Place, SignedReceipt};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::timing::SealingOutcome;
use crate::commands::stop::StopSignal;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;
use throng_host::net::client::{Client, Limits, SendError};

/// Randomizes and seals every respondent's answer for an epoch, on all cores, until it begins.
pub(super) fn seal(
    bundle: &Bundle,
    values: &[u64],
    epoch: u64,
    bar: &ProgressBar,
    stop: &StopSignal,
) -> Result<SealingOutcome<Vec<Vec<Body>>>> {
    let survey = bundle.survey().survey();
    let mechanism = survey.mechanism()?;
    // An answer that is made before the epoch has any time of it to be sent at.
    let begins_ms = epoch * survey.epoch_s * 1000;
    let schedule = Schedule::new(survey, EpochChoice::NextEpoch, begins_ms - 1)?;
    let sealed = AtomicUsize::new(0);
    let answers: Option<Vec<Vec<Body>>> = values
        .par_iter()
        .map(|&value| {
            stop.check()?;
            if SystemClock.now_ms() >= begins_ms {
                return Ok(None);
            }
            let mut rng = system_rng()?;
            let (survey, lists) = (bundle.survey(), bundle.key_lists());
            let value = value.into();
            let answer = answer(survey, lists, &mechanism, 0, &schedule, Some(&value), &mut rng)?;
            sealed.fetch_add(1, Ordering::Relaxed);
            bar.inc(1);
            Ok(Some(answer))
        })
        .collect::<Result<Option<_>>>()?;
    let share = sealed.into_inner() as f64 / values.len().max(1) as f64;
    Ok(answers.map_or(SealingOutcome::Late(share), SealingOutcome::Done))
}

/// Reads the credentials that were made for so many respondents.
pub(super) fn credentials(dir: &Path, respondents: usize) -> Result<Vec<Credential>> {
    let read = |number: usize| {
        let path = dir.join(format!("{number:06}.credential"));
        let text = Zeroizing::new(std::fs::read_to_string(&path).context("a credential is missing")?);
        Ok(Credential::from_file(&text)?)
    };
    (1..=respondents).map(read).collect()
}

/// Sends every body at its time, each over a connection of its own, and checks the receipts. Tries again until the epoch is
/// over. Returns for each respondent which instances have given a receipt, and why one has not, if any has not.
pub(super) async fn send(
    bundle: &Arc<Bundle>,
    epoch: u64,
    answers: Vec<Vec<Body>>,
    credentials: Vec<Credential>,
    bar: &ProgressBar,
    stop: &StopSignal,
) -> Result<(Vec<BTreeSet<u32>>, Option<SendError>)> {
    // Nobody shares a connection with anybody.
    let client = Client::new(None, Limits { idle_connections_max: 0, ..Limits::default() });
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let (mut taken, mut failed) = (vec![BTreeSet::new(); answers.len()], None);
    let mut sending = JoinSet::new();
    for (person, (bodies, credential)) in answers.into_iter().zip(credentials).enumerate() {
        let credential = Arc::new(credential);
        for body in bodies {
            let (client, places) = (client.clone(), Arc::clone(&places));
            let (bundle, credential, bar) = (Arc::clone(bundle), Arc::clone(&credential), bar.clone());
            sending.spawn(async move {
                sleep(Duration::from_millis(body.send_at_ms.saturating_sub(SystemClock.now_ms()))).await;
                let _place = places.acquire().await;
                let delivered = deliver(&client, &bundle, &credential, epoch, &body).await;
                bar.inc(1);
                delivered.map(|()| (person, body.instance))
            });
        }
    }
    while let Some(one) = sending.join_next().await {
        stop.check()?;
        match one? {
            Ok((person, instance)) => drop(taken[person].insert(instance)),
            Err(error) => failed = Some(error),
        }
    }
    Ok((taken, failed))
}

/// Sends one body until there is a receipt for it, or the epoch is over.
async fn deliver(
    client: &Client,
    bundle: &Bundle,
    credential: &Credential,
    epoch: u64,
    body: &Body,
) -> Result<(), SendError> {
    let survey = bundle.survey();
    let (place, route) =
        (Place::hop(body.instance, 1), body.route(survey.hash(), Channel { label: 0, epoch }));
    let address = bundle.address(place).map_err(|error| SendError::Refused(error.to_string()))?;
    let token = credential.token(&survey.hash(), place);
    let end_ms = survey.survey().epoch_end_s(epoch) * 1000;
    loop {
        match client.post_body(address, &route, &token, body.bytes()).await {
            Ok(receipt) => {
                let receipt = SignedReceipt::from_bytes(&receipt).ok();
                let receipt = receipt.as_ref().and_then(|receipt| receipt.verify(survey).ok());
                let holds = receipt.is_some_and(|receipt| receipt.body == body.digest);
                let wrong = || SendError::Refused("the receipt does not hold".into());
                return holds.then_some(()).ok_or_else(wrong);
            }
            Err(error) if error.is_passing() && SystemClock.now_ms() + RETRY_MS < end_ms => {
                sleep(Duration::from_millis(RETRY_MS)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Connections that are open at once.
const AT_ONCE: usize = 128;

const RETRY_MS: u64 = 300;
