//! Health checks of the hops before the last one.
//!
//! An analyzer gets its batches from last hops, and needs nothing of the others. It asks each of them for what anybody may
//! ask: the statement about the current epoch, which no hop has made yet. That tells nothing of the crowd. An answer under
//! the certificate of the hop's signed address shows that the hop is there and knows the survey.

use std::time::{Duration, Instant};

use hyper::{HeaderMap, Method};
use throng_wire::{Address, Place, Route};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::SurveyAnalysis;
use crate::error::Result;
use crate::operate::contacts::Contacts;
use crate::operate::reasons::{self, Reason};
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::{Client, OutgoingBody, Problem, SendError, paths};

/// The questions to the earlier hops of one instance that are under way. They keep no batch waiting.
#[derive(Debug, Default)]
pub(super) struct HealthChecks {
    running: Vec<JoinHandle<()>>,
    since: Option<Instant>,
}

impl HealthChecks {
    /// Asks them all again, once it is time to and nobody is still being asked.
    pub(super) fn round(
        &mut self,
        (survey, instance): (&SurveyAnalysis, u32),
        client: &Client,
        handle: &Handle,
        contacts: &Contacts,
    ) {
        let is_early = self.since.is_some_and(|since| since.elapsed() < PAUSE);
        if is_early || self.running.iter().any(|one| !one.is_finished()) {
            return;
        }
        self.since = Some(Instant::now());
        let signed = survey.bundle.survey();
        let label = u32::from(signed.survey().labels.is_some());
        let now_s = SystemClock.now_s();
        let epoch = signed.survey().epoch_at(now_s);
        let route = Route { survey: signed.hash(), label, epoch, instance };
        self.running.clear();
        for place in (1..signed.survey().delivery.hops).map(|hop| Place::hop(instance, hop)) {
            let contacts = contacts.clone();
            match survey.bundle.address(place) {
                Err(error) => contacts.note(signed.hash(), place, now_s, Some(Reason::of(&error.into()))),
                Ok(address) => {
                    let (client, address) = (client.clone(), address.clone());
                    self.running.push(handle.spawn(async move {
                        let failing = reasons::answer(&address, asked(&client, &address, &route).await).err();
                        contacts.note(route.survey, place, SystemClock.now_s(), failing);
                    }));
                }
            }
        }
    }
}

/// Asks one hop. That it has not decided yet is the answer that is expected.
async fn asked(client: &Client, to: &Address, route: &Route) -> Result<Result<(), Problem>, SendError> {
    let path = paths::path(route, "statement");
    let reply =
        client.request(to, Method::GET, &path, HeaderMap::new(), OutgoingBody::bytes(Vec::new())).await?;
    if reply.status.is_success() {
        // Its clock is ahead; the statement is not looked at.
        return reply.bytes().await.map(|_| Ok(()));
    }
    let problem = reply.problem().await?;
    Ok(if problem.name == "undecided" { Ok(()) } else { Err(problem) })
}

/// More often would tell an operator no more.
const PAUSE: Duration = Duration::from_secs(5);
