//! Attack 30: strangers who hold connections and say nothing.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use rustls::ClientConnection;
use throng_host::net::client::Limits;
use throng_host::net::{Client, OutgoingBody, SendError, open_files, server, tls};
use throng_wire::Digest;

use crate::{Tls, limits, router, send, start};

/// How far a stranger goes before they fall silent.
#[derive(Clone, Copy)]
enum Silence {
    /// Nothing is sent.
    AtOnce,
    /// Half of the first message of a handshake.
    InTheHandshake,
    /// The handshake is done, and no request comes.
    AfterTheHandshake,
}

/// Connects, goes as far, and holds the connection.
fn hold(to: SocketAddr, pinned: Digest, silent: Silence) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(60)).ok()?;
    let config = tls::client_config(pinned, None).unwrap();
    let mut client = ClientConnection::new(config, tls::server_name()).unwrap();
    match silent {
        Silence::AtOnce => {}
        Silence::InTheHandshake => {
            let mut hello = Vec::new();
            client.write_tls(&mut hello).unwrap();
            // One that was dropped already is dropped.
            let _ = stream.write_all(&hello[..hello.len() / 2]);
        }
        Silence::AfterTheHandshake => {
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            while client.is_handshaking() && client.complete_io(&mut stream).is_ok() {}
        }
    }
    Some(stream)
}

/// By themselves they would be cut off after ten minutes: all uploads come through since silent strangers make room.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_thousand_silent_connections_keep_nobody_out() {
    // Both ends of the connections that are served are in this process.
    let allowed = open_files::allow(STRANGERS as u64 + 2000);
    let strangers = STRANGERS.min(usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(1600));
    let patient = server::Limits { head: Duration::from_secs(600), ..limits() };
    let server = start(Tls, patient, router()).await;
    let (to, pinned) = (server.socket, server.address.certificate.unwrap());
    let holding: Vec<_> =
        [(Silence::AtOnce, 5), (Silence::InTheHandshake, 4), (Silence::AfterTheHandshake, 1)]
            .map(|(silent, tenths)| {
                let count = strangers * tenths / 10;
                tokio::task::spawn_blocking(move || {
                    (0..count).filter_map(|_| hold(to, pinned, silent)).collect::<Vec<_>>()
                })
            })
            .into_iter()
            .collect();
    let mut held = Vec::new();
    for holding in holding {
        held.extend(holding.await.unwrap());
    }
    assert!(held.len() > 2 * server::Limits::default().connections_max || strangers < STRANGERS);
    let address = Arc::new(server.address.clone());
    let uploads = (0..100).map(|_| {
        let address = Arc::clone(&address);
        tokio::spawn(async move {
            let patience = Duration::from_secs(300);
            let limits = Limits { connect: patience, pause: patience, ..Limits::default() };
            // On a busy machine somebody may be too slow once, and tries again as respondents do.
            loop {
                let body = OutgoingBody::bytes(vec![7; 1000]);
                let client = Client::new(None, limits);
                match send(&client, &address, Method::POST, "/upload", body).await {
                    Ok(reply) => break reply.status,
                    Err(error) => assert!(matches!(error, SendError::Unreachable(_)), "{error}"),
                }
            }
        })
    });
    let all = async {
        for upload in uploads.collect::<Vec<_>>() {
            assert_eq!(upload.await.unwrap(), StatusCode::OK);
        }
    };
    // Strangers would be there for longer than this, if they were let.
    tokio::time::timeout(Duration::from_secs(400), all).await.unwrap();
    drop(held);
}

const STRANGERS: usize = 3000;
