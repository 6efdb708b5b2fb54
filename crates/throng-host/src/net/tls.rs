//! TLS 1.3 with pinned certificates: a certificate is known by its SHA-256, and by nothing else.
//!
//! Names, issuers and dates in a certificate are not looked at. What counts is that its hash is the pinned one and that
//! the other side proves in the handshake to have its key.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error as TlsError,
    ServerConfig, SignatureScheme,
};
use throng_wire::Digest;
#[cfg(feature = "server")]
use zeroize::Zeroizing;

use crate::error::{Context, Error, Result};
use crate::private_file;

/// A party's certificate and its private key. The key is never shown.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads two PEM files: the certificate (the first one of several) and its private key.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self> {
        let advice = |path: &Path| format!("cannot read {}", path.display());
        let certificate_pem = fs::read_to_string(certificate).with_context(|| advice(certificate))?;
        let key_pem = private_file::read(key)?;
        Self::from_pem(&certificate_pem, &key_pem)
            .with_context(|| format!("in {} and {}", certificate.display(), key.display()))
    }

    /// Reads the text of PEM files, and refuses a key that is not the certificate's.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self> {
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(|error| Error::invalid(format!("not a certificate in PEM: {error}")))?;
        // The text of this error could quote the file, so it is left out.
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|_| Error::invalid("not a private key in PEM"))?;
        let identity = Self { certificate, key };
        server_config(&identity)?;
        Ok(identity)
    }

    /// SHA-256 of the certificate: what an address pins.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.certificate)
    }
}

/// How a party makes and writes its own.
#[cfg(feature = "server")]
impl Identity {
    /// A fresh key (ECDSA on P-256, drawn by AWS-LC) and a certificate that it signs itself. It never expires: an address
    /// with a higher serial replaces it.
    pub fn generate() -> Result<Self> {
        use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

        let pair = KeyPair::generate().context("no TLS key could be made")?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "throng");
        let certificate = params.self_signed(&pair).context("no certificate could be made")?.der().clone();
        let key = PrivateKeyDer::Pkcs8(pair.serialized_der().to_vec().into());
        Ok(Self { certificate, key })
    }

    /// The certificate as PEM.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate).to_string()
    }

    /// The private key as PEM (PKCS #8). Refused for a key that was read in another form.
    pub fn key_pem(&self) -> Result<Zeroizing<String>> {
        match &self.key {
            PrivateKeyDer::Pkcs8(key) => Ok(pem("PRIVATE KEY", key.secret_pkcs8_der())),
            _ => Err(Error::invalid("the TLS key is not in PKCS #8 form")),
        }
    }
}

/// The TLS configuration that a party accepts connections with. A client may show a certificate, and has then proved to
/// have its key. The handler decides whose it is, since it knows which address pins it.
pub fn server_config(identity: &Identity) -> Result<Arc<ServerConfig>> {
    let provider = Arc::new(provider());
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])
        .context("TLS 1.3 is not available")?
        .with_client_cert_verifier(Arc::new(AnyClient(provider)))
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .context("the certificate and the TLS key do not belong together")?;
    // Every connection proves its keys anew, and no ticket ties one connection to another.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// The TLS configuration that a party is called with: the party has to show exactly the certificate with this hash.
pub fn client_config(pinned: Digest, identity: Option<&Identity>) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])
        .context("TLS 1.3 is not available")?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(PinVerifier { pinned, provider }));
    let mut config = match identity {
        Some(identity) => builder
            .with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key())
            .context("the certificate and the TLS key do not belong together")?,
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    // The name would be the only thing to read on the wire, and nobody needs it.
    config.enable_sni = false;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// The algorithms of every link. The hybrid key exchange comes first: what is recorded on the wire today is not opened by a
/// quantum computer of tomorrow. Who does not know it (it is younger than TLS 1.3) is talked to as before.
fn provider() -> CryptoProvider {
    let kx_groups = vec![kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1];
    CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() }
}

/// What TLS asks for as the name of a server. It is neither sent nor compared.
pub fn server_name() -> ServerName<'static> {
    ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into())
}

/// Accepts any certificate of a client, and verifies that the client has its key.
#[derive(Debug)]
struct AnyClient(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("TLS 1.2 is not spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts one certificate of a server, and verifies that the server has its key.
#[derive(Debug)]
struct PinVerifier {
    pinned: Digest,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if Digest::of(certificate) == self.pinned {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("TLS 1.2 is not spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// RFC 7468. Room for all of it is reserved, so that no half-written copy of a key is left behind.
#[cfg(feature = "server")]
fn pem(label: &str, der: &[u8]) -> Zeroizing<String> {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    let digits = Zeroizing::new(BASE64_STANDARD.encode(der));
    let mut text = Zeroizing::new(String::with_capacity(digits.len() + digits.len() / 64 + 128));
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

/// The only protocol that is spoken (RFC 7301).
const ALPN: &[u8] = b"http/1.1";

#[cfg(test)]
mod tests {
    use rustls::server::ServerSessionMemoryCache;
    use rustls::{ClientConnection, NamedGroup, ServerConnection};

    use super::*;

    #[test]
    fn an_identity_survives_pem() {
        let identity = Identity::generate().unwrap();
        let (certificate, key) = (identity.certificate_pem(), identity.key_pem().unwrap());
        let again = Identity::from_pem(&certificate, &key).unwrap();
        assert_eq!(again.digest(), identity.digest());
        assert_eq!(*again.key_pem().unwrap(), *key);
        assert!(certificate.lines().all(|line| line.len() <= 64));
    }

    #[test]
    fn a_key_of_another_certificate_is_refused_and_no_key_is_shown() {
        let (one, two) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let error = Identity::from_pem(&one.certificate_pem(), &two.key_pem().unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("do not belong together"), "{error:#}");
        assert_ne!(one.digest(), two.digest());
        let key = one.key_pem().unwrap();
        let damaged = key.replace("PRIVATE KEY", "SOMETHING");
        let error = Identity::from_pem(&one.certificate_pem(), &damaged).unwrap_err();
        let secret = key.lines().nth(1).unwrap();
        assert!(!format!("{error:#} {one:?}").contains(secret));
    }

    /// Both ends of a link after the handshake, and after all that the server sends by itself.
    fn linked(client: Arc<ClientConfig>, server: Arc<ServerConfig>) -> (ClientConnection, ServerConnection) {
        let mut client = ClientConnection::new(client, server_name()).unwrap();
        let mut server = ServerConnection::new(server).unwrap();
        for _ in 0..4 {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            while client.wants_write() {
                client.write_tls(&mut there).unwrap();
            }
            server.read_tls(&mut &there[..]).unwrap();
            server.process_new_packets().unwrap();
            while server.wants_write() {
                server.write_tls(&mut back).unwrap();
            }
            client.read_tls(&mut &back[..]).unwrap();
            client.process_new_packets().unwrap();
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        (client, server)
    }

    /// Respondents call without a certificate; hops and analyzers call hops with theirs. All links have these two configurations.
    #[test]
    fn every_link_prefers_the_hybrid_key_exchange_and_gives_no_tickets() {
        let (hop, caller) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let server = server_config(&hop).unwrap();
        assert_eq!(server.send_tls13_tickets, 0);
        assert!(!server.session_storage.can_cache() && !server.ticketer.enabled());
        for identity in [None, Some(&caller)] {
            let config = client_config(hop.digest(), identity).unwrap();
            let (client, server) = linked(config, Arc::clone(&server));
            let groups = [client.negotiated_key_exchange_group(), server.negotiated_key_exchange_group()];
            assert_eq!(groups.map(|group| group.unwrap().name()), [NamedGroup::X25519MLKEM768; 2]);
            assert_eq!(client.tls13_tickets_received(), 0);
            assert_eq!(server.peer_certificates().is_some(), identity.is_some());
        }
        // Who does not know it is talked to all the same.
        let kx_groups = vec![kx_group::X25519];
        let older = Arc::new(CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() });
        let config = ClientConfig::builder_with_provider(older.clone())
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(PinVerifier { pinned: hop.digest(), provider: older }))
            .with_no_client_auth();
        let mut config = config;
        config.alpn_protocols = vec![ALPN.to_vec()];
        let (client, _) = linked(Arc::new(config), Arc::clone(&server));
        assert_eq!(client.negotiated_key_exchange_group().unwrap().name(), NamedGroup::X25519);
        // Tickets that were sent would be seen here.
        let mut ticketing = (*server).clone();
        ticketing.send_tls13_tickets = 2;
        ticketing.session_storage = ServerSessionMemoryCache::new(8);
        let (client, _) = linked(client_config(hop.digest(), None).unwrap(), Arc::new(ticketing));
        assert!(client.tls13_tickets_received() > 0);
    }
}
