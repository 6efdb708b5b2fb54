//! A whole HTTP exchange, byte by byte: what our client sends, and what our server answers to it, are the vectors that clients in other
//! languages have. `THRONG_WRITE_VECTORS=1 cargo test -p throng-host --test net` writes them again after a change.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use throng_host::net::{OutgoingBody, Problem, Sender, Server, Transport, Upload, client, paths, server};
use throng_wire::{Address, Place, Route, Token};

/// Survey, route, token, body and receipt are those of the second case of the vectors of throng-wire.
struct Case {
    route: Route,
    token: String,
    body: Vec<u8>,
    receipt: Vec<u8>,
}

fn case() -> Case {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../throng-wire/tests/vectors/wire.json")).unwrap();
    let case = &vectors["cases"][1];
    let number = |name: &str| case["route"][name].as_u64().unwrap();
    let instance = u32::try_from(number("instance")).unwrap();
    let label = u32::try_from(number("label")).unwrap();
    let survey = case["survey_hash"].as_str().unwrap().parse().unwrap();
    let place = Place::hop(instance, 1).to_string();
    let tokens = case["tokens"].as_array().unwrap();
    let token = tokens.iter().find(|token| token["party"] == *place).unwrap();
    Case {
        route: Route { survey, label, epoch: number("epoch"), instance },
        token: token["token"].as_str().unwrap().to_owned(),
        body: bytes(&case["body"]),
        receipt: bytes(&case["receipt"]),
    }
}

/// What a hop may answer, from a receipt to refusals.
fn answers(case: &Case) -> Vec<(&'static str, Result<Vec<u8>, Problem>)> {
    let closed = Problem::new(StatusCode::CONFLICT, "closed", "the epoch is over").at_s(1_760_000_000);
    let stopping =
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "send the same bytes again").after_s(1);
    vec![
        ("a receipt", Ok(case.receipt.clone())),
        ("too late, and the time by the hop's clock", Err(closed)),
        ("later", Err(stopping)),
    ]
}

#[test]
fn the_exchange_is_what_client_and_server_say() {
    let case = case();
    let request = what_the_client_sends(&case);
    let answered: Vec<Value> = answers(&case)
        .into_iter()
        .map(|(what, answer)| {
            let (head, body) = what_the_server_answers(&case, &request, answer);
            json!({ "what": what, "head": head, "body": hex(&body) })
        })
        .collect();
    let (head, body) = request;
    let made = json!({
        "about": "An exchange as docs/wire-format.md, section 9, has it, of the second case of throng-wire's wire.json. Heads are \
                  text with CRLF line ends, to the empty line; bodies are hexadecimal. Host and Date are another's; the order of \
                  headers, and capitals in their names, do not matter. Made by tests/net/exchange.rs.",
        "request": { "head": head, "body": hex(&body) },
        "answers": answered,
    });
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/exchange.json");
    if std::env::var_os("THRONG_WRITE_VECTORS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept, made, "the exchange has changed; see the head of this file");
}

/// Our client, before a socket that takes down what it hears and answers with the receipt.
fn what_the_client_sends(case: &Case) -> (String, Vec<u8>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let receipt = case.receipt.clone();
    let listening = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let heard = message(&mut stream);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", receipt.len());
        stream.write_all(&[head.as_bytes(), &receipt].concat()).unwrap();
        heard
    });
    let to = Address {
        survey: case.route.survey,
        party: Place::hop(case.route.instance, 1),
        serial: 1,
        url: format!("http://{address}"),
        certificate: None,
    };
    let token = Token::from_text(&case.token).unwrap();
    let sender = Sender::new(client::Limits::default()).unwrap();
    assert_eq!(sender.post_body(&to, &case.route, &token, &case.body).unwrap(), case.receipt);
    let (head, body) = listening.join().unwrap();
    assert_eq!(body, case.body);
    (head.replace(&address.to_string(), HOST), body)
}

/// Our server, given these bytes and an answer to give; it looks at what it takes them for.
fn what_the_server_answers(
    case: &Case,
    (head, body): &(String, Vec<u8>),
    answer: Result<Vec<u8>, Problem>,
) -> (String, Vec<u8>) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = runtime.block_on(Server::bind(any, Transport::Plain, server::Limits::default())).unwrap();
    let address = server.address().unwrap();
    let seen = Arc::clone(&taken);
    let handler = move |request: Request| {
        let (seen, answer) = (Arc::clone(&seen), answer.clone());
        async move {
            let route = paths::upload(request.uri().path()).unwrap();
            let token = request.headers()["authorization"].to_str().unwrap().to_owned();
            let body = Upload::new(request, 1 << 20).unwrap().bytes().await.unwrap();
            seen.lock().unwrap().push((route, token, body));
            let response: Response = match answer {
                Ok(receipt) => OutgoingBody::bytes(receipt).into_response(),
                Err(problem) => problem.into_response(),
            };
            response
        }
    };
    let router = Router::new().fallback(handler);
    let serving = runtime.spawn(server.serve(router, async {
        let _ = stopped.await;
    }));
    let mut stream = TcpStream::connect(address).unwrap();
    let head = head.replace(HOST, &address.to_string());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let (answered, answer_body) = message(&mut stream);
    drop(stream);
    stop.send(()).unwrap();
    runtime.block_on(serving).unwrap().unwrap();
    let token = format!("Bearer {}", case.token);
    assert_eq!(*taken.lock().unwrap(), [(case.route, token, case.body.clone())]);
    let dated: Vec<String> = answered
        .split("\r\n")
        .map(|line| if line.starts_with("date: ") { DATE.to_owned() } else { line.to_owned() })
        .collect();
    (dated.join("\r\n"), answer_body)
}

/// A head to its empty line, and as many bytes as it says.
fn message(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const HOST: &str = "hop.example:8080";
const DATE: &str = "date: Thu, 09 Oct 2025 08:53:20 GMT";
