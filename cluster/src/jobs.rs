//! Jobs: many tasks at once, on Ballista, or on the threads of this process.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ballista::prelude::SessionContextExt;
use ballista_core::extension::SessionConfigExt;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::ScalarValue;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::prelude::{SessionConfig, SessionContext, col};

use crate::bridge::Bridge;
use crate::function::{Bench, WorkFunction, answers_of};
use crate::task::Task;
use crate::tls::Tls;
use crate::work;

/// Whoever runs tasks.
pub trait Jobs: Send + Sync {
    /// Runs all tasks, and gives their answers in the same order. Tasks may run more than once.
    fn run(&self, tasks: &[Task]) -> io::Result<Vec<Vec<u8>>>;
}

/// Tasks on the threads of this process: the same work without a cluster, for comparison and for small parties.
pub struct LocalJobs(pub Bench);

impl Jobs for LocalJobs {
    fn run(&self, tasks: &[Task]) -> io::Result<Vec<Vec<u8>>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let done: Vec<Vec<(usize, io::Result<Vec<u8>>)>> = std::thread::scope(|scope| {
            let work = || {
                let mut done = Vec::new();
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(task) = tasks.get(at) else { return done };
                    done.push((at, work::run(task, &self.0.objects, &*self.0.keys)));
                }
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut done: Vec<_> = done.into_iter().flatten().collect();
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// Tasks on the executors of a Ballista scheduler.
pub struct BallistaJobs {
    scheduler: String,
    tls: Option<Tls>,
    bridge: Bridge,
    patience: Patience,
}

/// How long the driver waits, and how often it tries.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one try of a job.
    pub deadline: Duration,
    /// How often a job is submitted before it is an error. Whoever runs the hop tries again later.
    pub tries: u32,
    /// The first pause between two tries; it doubles.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(3600), tries: 5, pause: Duration::from_secs(1) }
    }
}

impl BallistaJobs {
    /// Jobs for a scheduler, for example `df://10.0.0.7:50050`.
    pub fn new(scheduler: &str, tls: Option<Tls>, bridge: Bridge, patience: Patience) -> Self {
        Self { scheduler: scheduler.to_owned(), tls, bridge, patience }
    }
}

impl fmt::Debug for BallistaJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BallistaJobs({})", self.scheduler)
    }
}

impl Jobs for BallistaJobs {
    fn run(&self, tasks: &[Task]) -> io::Result<Vec<Vec<u8>>> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let tasks: Arc<[Vec<u8>]> = tasks.iter().map(Task::to_bytes).collect();
        let (scheduler, tls, patience) = (self.scheduler.clone(), self.tls.clone(), self.patience);
        self.bridge.wait(async move {
            let mut pause = patience.pause;
            for last in (0..patience.tries.max(1)).map(|one| one + 1 >= patience.tries) {
                let tried = tokio::time::timeout(patience.deadline, submit(&scheduler, tls.as_ref(), &tasks)).await;
                match tried {
                    Ok(Ok(answers)) => return Ok(answers),
                    Ok(Err(error)) if last => {
                        return Err(io::Error::other(format!("the cluster could not do a job: {error}")));
                    }
                    Err(_) if last => {
                        let seconds = patience.deadline.as_secs();
                        return Err(io::Error::other(format!(
                            "the cluster did not finish a job within {seconds} s: look at its scheduler and executors"
                        )));
                    }
                    // A scheduler that was started again knows nothing of the job, and executors may be away for a while.
                    _ => tokio::time::sleep(pause).await,
                }
                pause *= 2;
            }
            Err(io::Error::other("a job was not tried"))
        })
    }
}

/// Submits all tasks as one job, and waits for the answers.
async fn submit(
    scheduler: &str,
    tls: Option<&Tls>,
    tasks: &[Vec<u8>],
) -> datafusion::error::Result<Vec<Vec<u8>>> {
    let mut config = SessionConfig::new_with_ballista()
        // With it, an executor that is lost after a stage leaves the job hanging for ever.
        .with_ballista_adaptive_query_planner(false)
        .with_ballista_grpc_client_max_message_size(MESSAGE_MAX)
        .with_ballista_job_name("throng");
    if let Some(tls) = tls {
        config = config
            .with_ballista_override_create_grpc_client_endpoint(tls.client())
            .with_ballista_use_tls(true);
    }
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let context = SessionContext::remote_with_state(scheduler, state).await?;
    context.register_udf(WorkFunction::named());
    let batches = context.execute_logical_plan(plan(tasks)?).await?.collect().await?;
    let mut answers: Vec<Option<Vec<u8>>> = vec![None; tasks.len()];
    for batch in batches {
        let numbers = batch.column(0).as_primitive::<UInt64Type>();
        for (number, answer) in numbers.values().iter().zip(answers_of(batch.column(1))?) {
            let place = usize::try_from(*number).ok().and_then(|at| answers.get_mut(at));
            *place.ok_or_else(|| unexpected("a task that was not sent"))? = Some(answer);
        }
    }
    answers.into_iter().map(|one| one.ok_or_else(|| unexpected("fewer tasks than were sent"))).collect()
}

fn unexpected(what: &str) -> datafusion::error::DataFusionError {
    datafusion::error::DataFusionError::Execution(format!("the cluster answered {what}"))
}

/// One partition for each few tasks: the engine spreads partitions over executors, and does one that is lost again.
fn plan(tasks: &[Vec<u8>]) -> datafusion::error::Result<LogicalPlan> {
    let parts = tasks.len().min(PARTITIONS_MAX);
    let function = WorkFunction::named();
    let part = |part: usize| {
        let rows = tasks.iter().enumerate().skip(part).step_by(parts);
        let rows =
            rows.map(|(number, task)| vec![lit(number as u64), lit(ScalarValue::Binary(Some(task.clone())))]);
        LogicalPlanBuilder::values(rows.collect())?.project(vec![
            col("column1").alias("number"),
            function.call(vec![col("column2")]).alias("answer"),
        ])
    };
    let mut all = part(0)?;
    for number in 1..parts {
        all = all.union(part(number)?.build()?)?;
    }
    all.build()
}

/// More would be planned for longer than they save.
const PARTITIONS_MAX: usize = 256;

/// The longest message: answers about bodies are 32 bytes for each.
const MESSAGE_MAX: usize = 64 << 20;
