//! Mutual TLS between the roles of one party's cluster.
//!
//! The operator's own certificate authority signs one certificate for each role and machine; whoever has none gets no
//! connection. It is not the authority of any other party: clusters of two parties cannot even talk to one another by mistake.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballista_core::extension::EndpointOverrideFn;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde::Deserialize;
use throng_host::atomic_file::{self, PRIVATE};
use throng_host::private_file;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

/// The files of one role.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate of the party's own authority, as PEM.
    pub authority: PathBuf,
    /// The certificate of this role.
    pub certificate: PathBuf,
    /// Its private key. Nobody else may read it.
    pub key: PathBuf,
}

/// What is in them.
#[derive(Clone)]
pub struct Tls {
    authority: Certificate,
    identity: Identity,
}

impl Tls {
    /// Reads the files.
    pub fn read(files: &TlsFiles) -> io::Result<Self> {
        // Two crypto libraries are in the tree, since object storage brings another: this one is ours. It may be chosen already.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
            })
        };
        let key = private_file::read(&files.key).map_err(|error| io::Error::other(format!("{error:#}")))?;
        Ok(Self {
            authority: Certificate::from_pem(read(&files.authority)?),
            identity: Identity::from_pem(read(&files.certificate)?, key.as_bytes()),
        })
    }

    /// For a role that listens: nobody gets in without a certificate of the same authority.
    pub fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(self.identity.clone()).client_ca_root(self.authority.clone())
    }

    /// For a role that connects.
    pub fn client(&self) -> EndpointOverrideFn {
        let config = ClientTlsConfig::new()
            .ca_certificate(self.authority.clone())
            .identity(self.identity.clone())
            .domain_name(NAME);
        Arc::new(move |endpoint: Endpoint| {
            // The engine names its scheduler by http://, whatever it is told; a connection without TLS is never made here.
            let authority = endpoint.uri().authority().ok_or("an address has a host")?.to_string();
            let endpoint = Endpoint::from_shared(format!("https://{authority}"))?;
            Ok(endpoint.tcp_nodelay(true).tls_config(config.clone())?)
        })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// Makes an authority and a certificate for each role, in a directory. The authority's own key is not kept: whoever needs more
/// certificates later makes all of them anew.
pub fn make(out: &Path, roles: &[String]) -> io::Result<()> {
    let failed = |error: rcgen::Error| io::Error::other(format!("no certificate can be made: {error}"));
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "throng cluster");
    let authority_key = KeyPair::generate().map_err(failed)?;
    let authority = params.self_signed(&authority_key).map_err(failed)?;
    std::fs::create_dir_all(out)?;
    atomic_file::create(&out.join("authority.pem"), authority.pem().as_bytes(), PUBLIC)?;
    let issuer = Issuer::new(params, authority_key);
    for role in roles {
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::new(vec![NAME.to_owned()]).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, role.as_str());
        let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
        atomic_file::create(&out.join(format!("{role}.pem")), certificate.pem().as_bytes(), PUBLIC)?;
        atomic_file::create(&out.join(format!("{role}.key")), key.serialize_pem().as_bytes(), PRIVATE)?;
    }
    Ok(())
}

/// The name in every certificate: a role is known by its authority, and not by its address.
const NAME: &str = "throng-cluster";

/// Everyone may read a certificate.
const PUBLIC: u32 = 0o644;
