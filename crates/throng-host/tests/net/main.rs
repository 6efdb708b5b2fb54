//! Parties that call one another over real sockets, and strangers who misbehave on them.
//!
//! Limits are short and outcomes are asserted, never times.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod silent;

mod exchange;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Extension, Router};
use rustls::client::ResolvesClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use throng_host::net::client::{self, Client};
use throng_host::net::server::{self, Peer, Server, Transport};
use throng_host::net::{Identity, OutgoingBody, Problem, RoutePath, SendError, Sender, Upload, paths, tls};
use throng_wire::{Address, Credential, Digest, Hasher, Place, Route, SurveyHash};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

#[tokio::test]
async fn tls_carries_a_request_and_its_answer() {
    let server = start(Tls, limits(), router()).await;
    let reply = call(&client(None), &server.address, "/hello").await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.bytes().await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_server_with_another_certificate_is_not_talked_to() {
    let server = start(Tls, limits(), router()).await;
    let other = Identity::generate().unwrap().digest();
    let address = Address { certificate: Some(other), ..server.address.clone() };
    match call(&client(None), &address, "/hello").await {
        Err(SendError::Unreachable(text)) => assert!(text.contains("does not prove"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(server.requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_handler_sees_the_certificate_of_the_client() {
    let server = start(Tls, limits(), router()).await;
    let identity = Identity::generate().unwrap();
    let digest = identity.digest().to_string();
    let reply = call(&client(Some(identity)), &server.address, "/peer").await.unwrap();
    assert_eq!(reply.bytes().await.unwrap(), digest.as_bytes());
    let reply = call(&client(None), &server.address, "/peer").await.unwrap();
    assert_eq!(reply.bytes().await.unwrap(), b"nobody");
}

#[tokio::test]
async fn a_certificate_is_worth_nothing_without_its_key() {
    let server = start(Tls, limits(), router()).await;
    let (party, impostor) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let certificate = CertificateDer::from_pem_slice(party.certificate_pem().as_bytes()).unwrap();
    for (key, served) in [(party.key_pem().unwrap(), true), (impostor.key_pem().unwrap(), false)] {
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).unwrap();
        let shown = FixedCertificate(Arc::new(CertifiedKey::new(vec![certificate.clone()], key)));
        let config = tls::client_config(server.address.certificate.unwrap(), None).unwrap();
        let mut config = (*config).clone();
        config.client_auth_cert_resolver = Arc::new(shown);
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let answer = async {
            let tcp = TcpStream::connect(server.socket).await?;
            let mut stream = connector.connect(tls::server_name(), tcp).await?;
            stream.write_all(b"GET /peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        let seen = answer
            .await
            .is_ok_and(|answer| String::from_utf8_lossy(&answer).contains(&party.digest().to_string()));
        assert_eq!(seen, served);
    }
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let server = start(Tls, limits(), router()).await;
    // A ClientHello of RFC 5246 with TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, P-256 and ecdsa_secp256r1_sha256.
    let extensions = [
        &[0x00, 0x0a, 0x00, 0x04, 0x00, 0x02, 0x00, 0x17][..],
        &[0x00, 0x0d, 0x00, 0x04, 0x00, 0x02, 0x04, 0x03],
        &[0x00, 0x0b, 0x00, 0x02, 0x01, 0x00],
    ]
    .concat();
    let body = [
        &[0x03, 0x03][..],
        &[7; 32],
        &[0x00, 0x00, 0x02, 0xc0, 0x2b, 0x01, 0x00],
        &[0x00, extensions.len() as u8],
        &extensions,
    ]
    .concat();
    let hello = [&[0x01, 0x00, 0x00, body.len() as u8][..], &body].concat();
    let record = [&[0x16, 0x03, 0x01, 0x00, hello.len() as u8][..], &hello].concat();
    let answer = raw(server.socket, &record).await;
    assert_eq!(answer, [0x15, 0x03, 0x03, 0x00, 0x02, 2, 70], "a fatal alert: protocol_version");
}

#[tokio::test]
async fn slow_clients_are_cut_off_while_others_are_served() {
    let slow = server::Limits { head: SHORT, pause: SHORT, ..limits() };
    let server = start(Plain, slow, router()).await;
    let head = raw(server.socket, b"GET /hello HT");
    let body = raw(server.socket, b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\n1");
    let others = async {
        for _ in 0..20 {
            let reply = call(&client(None), &server.address, "/hello").await.unwrap();
            assert_eq!(reply.bytes().await.unwrap(), b"hello");
        }
    };
    let (head, body, ()) = tokio::join!(head, body, others);
    assert!(!String::from_utf8_lossy(&head).contains("200"));
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("408") && body.contains("urn:throng:error:slow"), "{body}");
}

#[tokio::test]
async fn a_silent_client_does_not_hold_a_handshake_for_ever() {
    let server = start(Tls, server::Limits { head: SHORT, ..limits() }, router()).await;
    assert!(raw(server.socket, b"").await.is_empty());
}

#[tokio::test]
async fn a_body_that_trickles_ends_too() {
    let slow = server::Limits { body: SHORT, ..limits() };
    let server = start(Plain, slow, router()).await;
    let mut stream = TcpStream::connect(server.socket).await.unwrap();
    stream.write_all(b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\n").await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let mut answer = Vec::new();
    let trickle = async {
        while writer.write_all(b"1").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = trickle => {}
        _ = reader.read_to_end(&mut answer) => {}
    }
    assert!(String::from_utf8_lossy(&answer).contains("urn:throng:error:slow"));
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_cut_off() {
    let one = server::Limits { connections_max: 1, pause: SHORT, ..limits() };
    let server = start(Plain, one, router()).await;
    let mut deaf = TcpStream::connect(server.socket).await.unwrap();
    deaf.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    // Its place becomes free, or this would wait for ever.
    let reply = call(&client(None), &server.address, "/hello").await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    drop(deaf);
}

#[tokio::test]
async fn no_more_connections_are_open_than_allowed() {
    let three = server::Limits { connections_max: 3, silence: Duration::from_secs(600), ..limits() };
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted_now, counted_most) = (now.clone(), most.clone());
    let handler = move || async move {
        counted_most.fetch_max(counted_now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        counted_now.fetch_sub(1, Ordering::SeqCst);
        [(header::CONNECTION, "close")]
    };
    let server = start(Tls, three, Router::new().route("/", get(handler))).await;
    let calls = (0..30).map(|_| {
        let address = server.address.clone();
        tokio::spawn(async move { call(&client(None), &address, "/").await.unwrap().status })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), StatusCode::OK);
    }
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_a_problem() {
    let server = start(Tls, limits(), router()).await;
    for (len, status) in [(1000, StatusCode::OK), (1001, StatusCode::PAYLOAD_TOO_LARGE)] {
        let body = OutgoingBody::bytes(vec![1; len]);
        let reply = send(&client(None), &server.address, Method::POST, "/upload", body).await.unwrap();
        assert_eq!(reply.status, status);
    }
    let body = OutgoingBody::bytes(vec![1; 500_000]);
    let reply = send(&client(None), &server.address, Method::POST, "/upload", body).await.unwrap();
    assert_eq!(reply.headers[header::CONTENT_TYPE], "application/problem+json");
    let problem = reply.problem().await.unwrap();
    assert_eq!((problem.status, problem.name.as_ref()), (StatusCode::PAYLOAD_TOO_LARGE, "length"));
}

#[tokio::test]
async fn a_body_says_how_long_it_is_and_is_not_encoded() {
    let server = start(Plain, limits(), router()).await;
    for (headers, status) in
        [("Transfer-Encoding: chunked", "411"), ("Content-Length: 3\r\nContent-Encoding: gzip", "415")]
    {
        let head = format!(
            "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n{headers}\r\n\r\n"
        );
        let answer = raw(server.socket, head.as_bytes()).await;
        assert!(String::from_utf8_lossy(&answer).starts_with(&format!("HTTP/1.1 {status}")), "{headers}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let server = start(Plain, limits(), router()).await;
    let head = format!("GET /hello HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let answer = raw(server.socket, head.as_bytes()).await;
    assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 431"));
    assert_eq!(server.requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn plain_http_is_for_one_machine() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Server::bind(address.parse().unwrap(), Transport::Plain, limits()).await.unwrap_err();
        assert!(error.to_string().contains("one machine only"), "{error:#}");
    }
    let server = start(Plain, limits(), router()).await;
    let reply = call(&client(None), &server.address, "/peer").await.unwrap();
    assert_eq!(reply.bytes().await.unwrap(), b"nobody");
}

#[tokio::test]
async fn large_bodies_stream_both_ways() {
    let server = start(Tls, limits(), router()).await;
    let mut hasher = Hasher::new();
    (0..LARGE_LEN / 1024).for_each(|_| hasher.update(&[7; 1024]));
    let digest = hasher.finish();

    let body = OutgoingBody::reader(tokio::io::repeat(7), LARGE_LEN);
    let reply = send(&client(None), &server.address, Method::PUT, "/digest", body).await.unwrap();
    assert_eq!(reply.bytes().await.unwrap(), digest.as_bytes());

    let mut reply = call(&client(None), &server.address, "/large").await.unwrap();
    assert_eq!(reply.content_length(), Some(LARGE_LEN));
    let mut hasher = Hasher::new();
    while let Some(chunk) = reply.chunk().await.unwrap() {
        hasher.update(&chunk);
    }
    assert_eq!(hasher.finish(), digest);
    let error = call(&client(None), &server.address, "/large").await.unwrap().bytes().await.unwrap_err();
    assert!(matches!(error, SendError::Unreachable(text) if text.contains("exceeds")));
}

#[tokio::test]
async fn a_reader_that_ends_early_is_no_shorter_body() {
    let server = start(Tls, limits(), router()).await;
    let body = OutgoingBody::reader(tokio::io::repeat(7).take(10), 100);
    let error = send(&client(None), &server.address, Method::POST, "/upload", body).await.unwrap_err();
    assert!(matches!(error, SendError::Unreachable(_)), "{error}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    // A second connection would never be accepted.
    let one = server::Limits {
        connections_max: 1,
        head: Duration::from_secs(600),
        silence: Duration::from_secs(600),
        ..limits()
    };
    let server = start(Tls, one, router()).await;
    let client = client(None);
    for _ in 0..50 {
        let reply = call(&client, &server.address, "/hello").await.unwrap();
        assert_eq!(reply.bytes().await.unwrap(), b"hello");
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced() {
    let server = start(Tls, server::Limits { head: SHORT, ..limits() }, router()).await;
    let client = client(None);
    for _ in 0..2 {
        let reply = call(&client, &server.address, "/hello").await.unwrap();
        assert_eq!(reply.bytes().await.unwrap(), b"hello");
        tokio::time::sleep(3 * SHORT).await;
    }
}

#[tokio::test]
async fn a_server_that_ends_finishes_what_it_has_begun() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (begun.clone(), go_on.clone());
    let handler = move || async move {
        tell.notify_one();
        wait.notified().await;
        "done"
    };
    let server = start(Tls, limits(), Router::new().route("/", get(handler))).await;
    let address = server.address.clone();
    let request = tokio::spawn(async move { call(&client(None), &address, "/").await });
    begun.notified().await;
    server.stop.send(()).unwrap();
    go_on.notify_one();
    assert_eq!(request.await.unwrap().unwrap().bytes().await.unwrap(), b"done");
    server.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(server.socket).await.is_err());
}

/// An upload that was begun is stored, and its sender asks again for the receipt. Waits for ever if it is dropped.
#[tokio::test]
async fn what_has_begun_is_finished_when_its_client_hangs_up() {
    let (begun, go_on, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait, end) = (begun.clone(), go_on.clone(), done.clone());
    let handler = move || async move {
        tell.notify_one();
        wait.notified().await;
        end.notify_one();
        "done"
    };
    let server = start(Plain, limits(), Router::new().route("/", get(handler))).await;
    let mut stream = TcpStream::connect(server.socket).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    begun.notified().await;
    drop(stream);
    // The server would have noticed by the time that it has answered somebody else.
    assert!(!raw(server.socket, b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.is_empty());
    go_on.notify_one();
    done.notified().await;
}

#[tokio::test]
async fn respondents_learn_whether_to_try_again() {
    let route = Route { survey: SurveyHash::new([1; 32]), label: 0, epoch: 20_000, instance: 1 };
    let token = Credential::generate(&mut throng_host::entropy::system_rng().unwrap())
        .token(&route.survey, Place::hop(1, 1));
    let bearer = format!("Bearer {}", *token.to_text());
    let handler = move |RoutePath(asked): RoutePath, headers: HeaderMap, request: Request| async move {
        assert_eq!(asked, route);
        assert_eq!(headers[header::AUTHORIZATION], bearer);
        assert_eq!(headers[header::CONTENT_TYPE], "application/octet-stream");
        match Upload::new(request, 100)?.bytes().await?.as_slice() {
            b"closed" => Err(Problem::new(StatusCode::CONFLICT, "closed", "the epoch is over").at_s(7)),
            b"early" => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "early", "not yet").at_s(7)),
            b"later" => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "later").after_s(9)),
            b"never" => Err(Problem::new(StatusCode::CONFLICT, "conflict", "other bytes").after_s(9)),
            b"full" => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "full", "no room")),
            body => Ok(OutgoingBody::bytes([b"receipt of ", body].concat())),
        }
    };
    let router = Router::new().route(&paths::pattern("body"), post(handler)).fallback(Problem::unknown);
    let server = start(Tls, limits(), router).await;
    let address = server.address.clone();
    let blocking = move || {
        let sender = Sender::new(client_limits()).unwrap();
        let post = |address: &Address, body: &[u8]| sender.post_body(address, &route, &token, body);
        assert_eq!(post(&address, b"body").unwrap(), b"receipt of body");
        for (body, reason, over) in [
            (&b"closed"[..], "the epoch is over (409 closed)", true),
            (b"early", "not yet (503 early)", false),
        ] {
            let error = post(&address, body).unwrap_err();
            assert_eq!(error, SendError::WrongTime { reason: reason.into(), their_s: 7, over });
            assert_eq!(error.is_passing(), !over);
        }
        let later = SendError::Later { reason: "later (503 stopping)".into(), after_s: 9 };
        assert_eq!(post(&address, b"later").unwrap_err(), later);
        let never = SendError::Refused("other bytes (409 conflict)".into());
        assert_eq!(post(&address, b"never").unwrap_err(), never);
        assert!(later.is_passing() && !never.is_passing());
        assert_eq!(post(&address, b"full").unwrap_err(), SendError::Unreachable("no room (503 full)".into()));
        assert!(matches!(post(&address, &[0; 101]), Err(SendError::Refused(text)) if text.contains("101")));
        let other = Address { certificate: Some(Digest::NONE), ..address.clone() };
        assert!(matches!(post(&other, b"body"), Err(SendError::Unreachable(_))));
        let nobody = Address { url: "https://127.0.0.1:1".into(), ..address };
        assert!(matches!(post(&nobody, b"body"), Err(SendError::Unreachable(_))));
    };
    tokio::task::spawn_blocking(blocking).await.unwrap();
}

#[tokio::test]
async fn a_greedy_connection_is_refused_for_a_moment_and_others_are_served() {
    let server = start(Plain, server::Limits { requests_per_s_max: 5, ..limits() }, router()).await;
    let greedy = client(None);
    let refused = loop {
        let reply = call(&greedy, &server.address, "/hello").await.unwrap();
        if reply.status != StatusCode::OK {
            break reply;
        }
        reply.bytes().await.unwrap();
    };
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers[header::RETRY_AFTER], "1");
    assert_eq!(refused.headers[header::CONTENT_TYPE], "application/problem+json");
    let problem = refused.problem().await.unwrap();
    assert!(problem.is_passing() && problem.name == "rate", "{problem}");
    // The refusal was not taken from what there is for others.
    let other = call(&client(None), &server.address, "/hello").await.unwrap();
    assert_eq!(other.status, StatusCode::OK);
    // The same request is answered later.
    while call(&greedy, &server.address, "/hello").await.unwrap().success().await.is_err() {}
}

#[tokio::test]
async fn all_connections_together_have_a_limit_and_bodies_are_sent_again() {
    let server = start(Plain, server::Limits { requests_per_s_max: 20, ..limits() }, router()).await;
    // Each connection stays below its own share.
    let body = || OutgoingBody::bytes(vec![7; 1000]);
    let passing = loop {
        let reply = send(&client(None), &server.address, Method::POST, "/upload", body()).await.unwrap();
        match reply.success().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(&passing, SendError::Later { reason, .. } if reason.contains("429 rate")), "{passing}");
    loop {
        let reply = send(&client(None), &server.address, Method::POST, "/upload", body()).await.unwrap();
        if reply.success().await.is_ok() {
            break;
        }
    }
}

#[tokio::test]
async fn what_comes_after_the_end_is_told_to_come_again() {
    let server = start(Plain, limits(), router()).await;
    let mut stream = TcpStream::connect(server.socket).await.unwrap();
    // A first request shows that the connection is served; a second one has begun when the server ends.
    stream.write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HT").await.unwrap();
    let mut answer = vec![0; 1000];
    let len = stream.read(&mut answer).await.unwrap();
    assert!(answer[..len].ends_with(b"hello"));
    server.stop.send(()).unwrap();
    while TcpStream::connect(server.socket).await.is_ok() {}
    let _ = stream.write_all(b"TP/1.1\r\nHost: x\r\n\r\n").await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    // The connection may also have been closed between the two.
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.is_empty() || answer.contains("urn:throng:error:stopping"), "{answer}");
    server.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn every_refusal_is_a_problem() {
    let server = start(Plain, limits(), router()).await;
    for (method, path, body, status, name) in [
        (Method::GET, "/nothing", OutgoingBody::empty(), 404, "unknown"),
        (Method::DELETE, "/hello", OutgoingBody::empty(), 405, "method"),
        (Method::POST, "/upload", OutgoingBody::bytes(vec![0; 2 * UPLOAD_LEN_MAX as usize]), 413, "length"),
    ] {
        let reply = send(&client(None), &server.address, method, path, body).await.unwrap();
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(reply.headers[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(reply.headers.contains_key(header::ALLOW), status == 405);
        assert_eq!(reply.problem().await.unwrap().name, name);
    }
}

/// A server in the background.
struct TestServer {
    address: Address,
    socket: SocketAddr,
    requests: Arc<AtomicUsize>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<throng_host::Result<()>>,
}

enum Kind {
    Tls,
    Plain,
}
use Kind::{Plain, Tls};

async fn start(kind: Kind, limits: server::Limits, router: Router) -> TestServer {
    let identity = Identity::generate().unwrap();
    let (transport, scheme, certificate) = match kind {
        Tls => (Transport::Tls(&identity), "https", Some(identity.digest())),
        Plain => (Transport::Plain, "http", None),
    };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), transport, limits).await.unwrap();
    let socket = server.address().unwrap();
    let survey = SurveyHash::new([0; 32]);
    let url = format!("{scheme}://{socket}");
    let address = Address { survey, party: Place::Analyzer, serial: 1, url, certificate };
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let router = router.layer(axum::middleware::map_request(move |request: Request| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { request }
    }));
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(server.serve(router, async {
        // A test that forgets the server does not end it.
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    }));
    TestServer { address, socket, requests, stop, task }
}

fn router() -> Router {
    Router::new()
        .route("/hello", get(|| async { "hello" }))
        .route(
            "/peer",
            get(|Extension(Peer { certificate })| async move {
                certificate.map_or("nobody".to_owned(), |digest| digest.to_string())
            }),
        )
        .route(
            "/upload",
            post(|request: Request| async {
                Upload::new(request, UPLOAD_LEN_MAX)?.bytes().await.map(|_| StatusCode::OK)
            }),
        )
        .route(
            "/digest",
            axum::routing::put(|request: Request| async {
                let mut upload = Upload::new(request, LARGE_LEN)?;
                let mut hasher = Hasher::new();
                while let Some(chunk) = upload.chunk().await? {
                    hasher.update(&chunk);
                }
                Ok::<_, Problem>(OutgoingBody::bytes(hasher.finish().as_bytes().to_vec()))
            }),
        )
        .route(
            "/large",
            get(|| async { OutgoingBody::reader(tokio::io::repeat(7), LARGE_LEN).into_response() }),
        )
        .fallback(Problem::unknown)
        .method_not_allowed_fallback(Problem::method)
}

fn client(identity: Option<Identity>) -> Client {
    Client::new(identity, client_limits())
}

fn client_limits() -> client::Limits {
    client::Limits { idle: Duration::from_secs(600), ..client::Limits::default() }
}

fn limits() -> server::Limits {
    server::Limits { body_bytes_per_s: u64::MAX, ..server::Limits::default() }
}

async fn call(client: &Client, to: &Address, path: &str) -> Result<client::Reply, SendError> {
    send(client, to, Method::GET, path, OutgoingBody::empty()).await
}

async fn send(
    client: &Client,
    to: &Address,
    method: Method,
    path: &str,
    body: OutgoingBody,
) -> Result<client::Reply, SendError> {
    client.request(to, method, path, HeaderMap::new(), body).await
}

/// Sends bytes and reads until the server hangs up.
async fn raw(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset ends the answer as well.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

/// A client that shows a certificate with whatever key it has.
#[derive(Debug)]
struct FixedCertificate(Arc<CertifiedKey>);

impl ResolvesClientCert for FixedCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

const SHORT: Duration = Duration::from_millis(500);
const UPLOAD_LEN_MAX: u64 = 1000;
const LARGE_LEN: u64 = 32 << 20;
