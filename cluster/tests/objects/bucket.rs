//! An S3-compatible server on a directory, which can be told to fail.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use object_store::aws::AmazonS3Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tempfile::TempDir;
use throng_cluster::bridge::Bridge;
use throng_cluster::objects::Objects;
use tokio::net::TcpListener;

/// A server with one bucket, for as long as it lives.
pub(crate) struct Bucket {
    _dir: TempDir,
    bridge: Bridge,
    endpoint: String,
    faults: Arc<Faults>,
}

/// How many requests are still to be refused, by what, and how many were.
#[derive(Default)]
struct Faults {
    left: AtomicU32,
    status: AtomicU32,
    done: AtomicU32,
}

impl Bucket {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(NAME)).unwrap();
        let bridge = Bridge::new().unwrap();
        let files = s3s_fs::FileSystem::new(dir.path()).unwrap();
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single("key", "secret"));
        let service = service.build();
        let faults = Arc::new(Faults::default());
        let shared = Arc::clone(&faults);
        let listener = bridge.wait(async { TcpListener::bind("127.0.0.1:0").await }).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        bridge.spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else { continue };
                let (service, faults) = (service.clone(), Arc::clone(&shared));
                let answer = hyper::service::service_fn(move |request| {
                    let (service, faults) = (service.clone(), Arc::clone(&faults));
                    async move {
                        if faults
                            .left
                            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                            .is_ok()
                        {
                            faults.done.fetch_add(1, Ordering::SeqCst);
                            let status = faults.status.load(Ordering::SeqCst) as u16;
                            let refused = hyper::Response::builder().status(status).body(s3s::Body::empty());
                            return Ok::<_, Infallible>(refused.unwrap());
                        }
                        Ok(hyper::service::Service::call(&service, request).await.unwrap())
                    }
                });
                tokio::spawn(async move {
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(socket), answer)
                        .await;
                });
            }
        });
        Self { _dir: dir, bridge, endpoint, faults }
    }

    /// The bucket's objects.
    pub(crate) fn objects(&self) -> Objects {
        let store = AmazonS3Builder::new()
            .with_endpoint(&self.endpoint)
            .with_allow_http(true)
            .with_region("here")
            .with_bucket_name(NAME)
            .with_access_key_id("key")
            .with_secret_access_key("secret")
            .build();
        Objects::on(Arc::new(store.unwrap()), self.bridge.clone())
    }

    /// How a process finds the bucket.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 5] {
        [
            ("AWS_ENDPOINT", &self.endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "here"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ]
    }

    /// Answers so many requests with this status.
    pub(crate) fn fail(&self, requests: u32, status: u16) {
        self.faults.status.store(u32::from(status), Ordering::SeqCst);
        self.faults.left.store(requests, Ordering::SeqCst);
    }

    /// How many requests were refused.
    pub(crate) fn failed(&self) -> u32 {
        self.faults.done.load(Ordering::SeqCst)
    }
}

const NAME: &str = "bucket";
