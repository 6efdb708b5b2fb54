//! The scheduler: Ballista's, which knows our function by name. It sees names of objects, numbers of records, which places were deleted, and
//! the key that chooses buckets; no layer key, no seed of an order, and no envelope.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::function::WorkFunction;
use crate::tls::Tls;

/// How soon a silent executor is given up.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// An executor that has said nothing for so long is lost, and its tasks are done by others.
    pub executor_timeout_s: u64,
    /// How often that is looked at.
    pub expire_every_s: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { executor_timeout_s: 20, expire_every_s: 2 }
    }
}

/// Serves until `shutdown` is over. `ready` is told the address once executors and drivers can connect.
pub async fn serve(
    listen: SocketAddr,
    tls: Option<Tls>,
    timing: Timing,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let incoming = TcpIncoming::bind(listen).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot listen on {listen}: {error}; give another --listen"))
    })?;
    let address = incoming.local_addr()?;
    let config = SchedulerConfig {
        bind_host: address.ip().to_string(),
        external_host: address.ip().to_string(),
        bind_port: address.port(),
        // Executors come for work. So nobody has to reach them but drivers, for their answers.
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: timing.executor_timeout_s,
        expire_dead_executor_interval_seconds: timing.expire_every_s,
        no_executors_grace_period_seconds: timing.executor_timeout_s,
        finished_job_data_clean_up_interval_seconds: 60,
        finished_job_state_clean_up_interval_seconds: 60,
        grpc_server_max_decoding_message_size: MESSAGE_MAX,
        grpc_server_max_encoding_message_size: MESSAGE_MAX,
        override_session_builder: Some(Arc::new(|config| {
            let state = SessionStateBuilder::new().with_config(config).with_default_features();
            Ok(state.with_scalar_functions(functions()).build())
        })),
        override_create_grpc_client_endpoint: tls.as_ref().map(Tls::client),
        use_tls: tls.is_some(),
        ..SchedulerConfig::default()
    };
    let failed = |error: ballista_core::error::BallistaError| {
        io::Error::other(format!("the scheduler failed: {error}"))
    };
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config))
        .await
        .map_err(failed)?;
    let service = SchedulerGrpcServer::new(scheduler)
        .max_encoding_message_size(MESSAGE_MAX as usize)
        .max_decoding_message_size(MESSAGE_MAX as usize);
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server = server.tls_config(tls.server()).map_err(io::Error::other)?;
    }
    ready(address);
    server
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, shutdown)
        .await
        .map_err(io::Error::other)
}

/// The engine's own functions, and ours.
fn functions() -> Vec<Arc<datafusion::logical_expr::ScalarUDF>> {
    let mut functions = ballista_core::extension::ballista_scalar_functions();
    functions.push(Arc::new(WorkFunction::named()));
    functions
}

const MESSAGE_MAX: u32 = 64 << 20;
