//! From PEM texts to what rustls serves with. Speaks to nobody.

use rustls::{
    RootCertStore, ServerConfig, SupportedProtocolVersion,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
    version::{TLS12, TLS13},
};

/// Which certificates clients show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clients {
    /// None are asked for.
    Ignored,
    /// One that is shown must be signed.
    IfGiven,
    /// Each must show one that is signed.
    Required,
}

impl Clients {
    /// By exporter-toolkit's name, which is Go's. Two of Go's ask for a certificate and believe any: refused.
    pub(super) fn named(name: Option<&str>) -> Result<Self, String> {
        match name.unwrap_or_default() {
            "" | "NoClientCert" => Ok(Self::Ignored),
            "VerifyClientCertIfGiven" => Ok(Self::IfGiven),
            "RequireAndVerifyClientCert" => Ok(Self::Required),
            other => Err(format!(
                "client_auth_type: {other:?} guards nothing; write RequireAndVerifyClientCert, VerifyClientCertIfGiven or NoClientCert"
            )),
        }
    }
}

/// The versions between two of exporter-toolkit's names. TLS 1.0 and 1.1 as the lowest mean 1.2: they are not spoken.
pub(super) fn versions(
    least: Option<&str>,
    most: Option<&str>,
) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let least = match least.unwrap_or("TLS12") {
        "TLS10" | "TLS11" | "TLS12" => 12,
        "TLS13" => 13,
        other => {
            return Err(format!(
                "min_version: {other:?} is no version; write TLS12 or TLS13"
            ));
        }
    };
    let most = match most.unwrap_or("TLS13") {
        "TLS12" => 12,
        "TLS13" => 13,
        other => {
            return Err(format!(
                "max_version: {other:?} cannot be; write TLS12 or TLS13"
            ));
        }
    };
    let all = [(12, &TLS12), (13, &TLS13)];
    let between = all
        .into_iter()
        .filter(|(version, _)| (least..=most).contains(version));
    let between: Vec<_> = between.map(|(_, version)| version).collect();
    if between.is_empty() {
        return Err("min_version: is above max_version; swap them".into());
    }
    Ok(between)
}

/// Name and text of each.
pub(super) struct Material {
    /// Certificates, the server's own first.
    pub(super) chain: Option<(String, String)>,
    /// Its key.
    pub(super) key: Option<(String, String)>,
    /// Who signs clients' certificates.
    pub(super) signers: Option<(String, String)>,
}

/// What to serve with. An error is the name of a text and what is wrong with it.
pub(super) fn config(
    material: Material,
    clients: Clients,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, (String, String)> {
    crate::inference::ready_for_tls();
    let (chain_name, chain) = material.chain.unwrap_or_default();
    let chain = certificates(&chain).map_err(|why| (chain_name.clone(), why))?;
    let (key_name, key) = material.key.unwrap_or_default();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
    let key = key.map_err(|_| (key_name.clone(), "holds no private key in PEM form".into()))?;
    let builder = ServerConfig::builder_with_protocol_versions(versions);
    let builder = match (clients, material.signers) {
        (Clients::Ignored, _) | (_, None) => builder.with_no_client_auth(),
        (clients, Some((name, text))) => {
            let mut signers = RootCertStore::empty();
            for signer in certificates(&text).map_err(|why| (name.clone(), why))? {
                let added = signers.add(signer);
                added.map_err(|error| (name.clone(), format!("cannot be used: {error}")))?;
            }
            let verifier = WebPkiClientVerifier::builder(signers.into());
            let verifier = match clients {
                Clients::IfGiven => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            let verifier = verifier.build();
            builder.with_client_cert_verifier(
                verifier.map_err(|error| (name, format!("cannot be used: {error}")))?,
            )
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        (
            chain_name,
            format!("does not fit the key {key_name}: {error}"),
        )
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err("holds no certificate in PEM form".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_named_as_in_go() {
        let count = |least, most| versions(least, most).map(|all| all.len());
        assert_eq!(count(None, None), Ok(2));
        assert_eq!(count(Some("TLS10"), None), Ok(2));
        assert_eq!(count(Some("TLS13"), None), Ok(1));
        assert!(count(Some("TLS13"), Some("TLS12")).is_err());
        assert!(count(Some("SSL3"), None).is_err());
    }

    #[test]
    fn certificates_that_anybody_can_make_guard_nothing() {
        assert_eq!(Clients::named(None), Ok(Clients::Ignored));
        assert!(Clients::named(Some("RequireAnyClientCert")).is_err());
        assert!(Clients::named(Some("RequestClientCert")).is_err());
    }
}
