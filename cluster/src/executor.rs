//! An executor: Ballista's, with our function and the layer keys of its party behind it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::create_grpc_server;
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::flight_service::BallistaFlightService;
use datafusion::prelude::SessionConfig;

use crate::function::{Bench, NAME, WorkFunction};
use crate::tls::Tls;

/// What an executor is told.
pub struct ExecutorConfig {
    /// Where drivers come for answers.
    pub listen: SocketAddr,
    /// The scheduler's host and port.
    pub scheduler: (String, u16),
    /// How many tasks it does at once.
    pub cores: usize,
    /// A directory of its own, which is emptied at every start: answers of tasks are there for a minute.
    pub work: PathBuf,
    /// Mutual TLS with the other roles.
    pub tls: Option<Tls>,
    /// Its objects and keys.
    pub bench: Arc<Bench>,
}

/// Works until the process is told to end.
pub async fn serve(config: ExecutorConfig) -> io::Result<()> {
    let ExecutorConfig { listen, scheduler: (scheduler_host, scheduler_port), cores, work, tls, bench } =
        config;
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let mut functions = BallistaFunctionRegistry::default();
    functions.scalar_functions.insert(NAME.to_owned(), Arc::new(WorkFunction::at(bench)));
    let session = tls.clone();
    let executor = ExecutorProcessConfig {
        bind_host: listen.ip().to_string(),
        external_host: Some(listen.ip().to_string()),
        port: listen.port(),
        scheduler_host,
        scheduler_port,
        // It waits for a scheduler that is not there yet.
        scheduler_connect_timeout_seconds: u16::MAX,
        vcores: cores,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(work.display().to_string()),
        job_data_ttl_seconds: 60,
        job_data_clean_up_interval_seconds: 30,
        grpc_max_decoding_message_size: MESSAGE_MAX as u32,
        grpc_max_encoding_message_size: MESSAGE_MAX as u32,
        // What tasks hold is theirs and bounded by their size; the engine itself holds next to nothing.
        memory_pool_size: Some(256 << 20),
        override_function_registry: Some(Arc::new(functions)),
        override_config_producer: Some(Arc::new(move || {
            let config = SessionConfig::new_with_ballista().with_ballista_adaptive_query_planner(false);
            match &session {
                Some(tls) => config
                    .with_ballista_override_create_grpc_client_endpoint(tls.client())
                    .with_ballista_use_tls(true),
                None => config,
            }
        })),
        override_create_grpc_client_endpoint: tls.as_ref().map(Tls::client),
        override_arrow_flight_service: Some(flight(tls)),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(executor))
        .await
        .map_err(|error| io::Error::other(format!("the executor failed: {error}")))
}

/// The service that drivers fetch answers from, over mutual TLS.
fn flight(tls: Option<Tls>) -> Arc<ArrowFlightServerProvider> {
    Arc::new(move |work, address, mut shutdown, config| {
        let tls = tls.clone();
        tokio::spawn(async move {
            let mut server = create_grpc_server(&config);
            if let Some(tls) = tls {
                server = server.tls_config(tls.server()).map_err(BallistaError::TonicError)?;
            }
            let service = FlightServiceServer::new(BallistaFlightService::new(work))
                .max_decoding_message_size(MESSAGE_MAX)
                .max_encoding_message_size(MESSAGE_MAX);
            let served = server.add_service(service).serve_with_shutdown(address, shutdown.recv()).await;
            served.map_err(BallistaError::TonicError)
        })
    })
}

const MESSAGE_MAX: usize = 64 << 20;
