//! Whose schema it is, and of which version.

use throng_cluster::postgres::Postgres;

use crate::server::Server;

fn open(address: &str, owner: &str) -> Result<(), String> {
    let opened = Postgres::open(address, owner, Server::shared().bridge());
    opened.map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_schema_has_one_owner() {
    let address = Server::shared().schema();
    let mut opened: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|_| scope.spawn(|| open(&address, "alice"))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    opened.dedup();
    assert_eq!(opened, [Ok(())], "replicas may start together");
    let refused = open(&address, "bob").unwrap_err();
    assert!(refused.contains("belongs to alice"), "{refused}");
    assert_eq!(open(&address, "alice"), Ok(()));
}

#[test]
fn a_newer_schema_is_refused() {
    let server = Server::shared();
    let address = server.schema();
    open(&address, "alice").unwrap();
    server.sql(
        "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
         VALUES (1000, 'later', '2030-01-01T00:00:00Z', '1')",
        &address,
    );
    let refused = open(&address, "alice").unwrap_err();
    assert!(refused.contains("version 1000") && refused.contains("newer program"), "{refused}");
}

#[test]
fn an_address_that_leads_nowhere_is_an_error() {
    for (address, said) in [
        ("nonsense", "postgres://"),
        ("postgres://postgres@127.0.0.1:1/postgres", "the database failed"),
        ("postgres://postgres@127.0.0.1:1/postgres?sslmode=require", "not encrypted"),
    ] {
        let error = open(address, "alice").unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let nowhere = Server::shared().schema().replace("party_", "nobody_");
    assert!(open(&nowhere, "alice").unwrap_err().contains("CREATE SCHEMA"));
}
