//! The web configuration file as exporter-toolkit writes it (docs/web-configuration.md there). A key that would guard the
//! port and is not obeyed here is refused, not ignored.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, de::IgnoredAny};

use super::{WebError, text, tls};
use crate::config::yaml;

/// The file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Form {
    tls_server_config: Option<Tls>,
    http_server_config: Http,
    /// Names and bcrypt hashes.
    pub(super) basic_auth_users: BTreeMap<String, String>,
    rate_limit: Option<IgnoredAny>,
    #[serde(skip)]
    path: PathBuf,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tls {
    cert: Option<String>,
    key: Option<String>,
    client_ca: Option<String>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    client_ca_file: Option<PathBuf>,
    client_auth_type: Option<String>,
    client_allowed_sans: Vec<String>,
    min_version: Option<String>,
    max_version: Option<String>,
    cipher_suites: Vec<String>,
    curve_preferences: Vec<String>,
    prefer_server_cipher_suites: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Http {
    http2: Option<bool>,
    headers: BTreeMap<String, String>,
}

/// What belongs at each key, for messages.
const RIGHTS: &yaml::Rights = &[
    (
        "tls_server_config",
        "a map such as {cert_file: tls.crt, key_file: tls.key}",
    ),
    (
        "http_server_config",
        "a map such as {headers: {X-Frame-Options: deny}}",
    ),
    (
        "basic_auth_users",
        "a map of names to bcrypt hashes such as {alice: \"$2y$10$…\"}",
    ),
    ("cert_file", "a file such as /etc/foresail-web/tls.crt"),
    ("key_file", "a file such as /etc/foresail-web/tls.key"),
    ("client_ca_file", "a file such as /etc/foresail-web/ca.crt"),
    (
        "client_auth_type",
        "a text such as RequireAndVerifyClientCert",
    ),
    ("min_version", "TLS12 or TLS13"),
    ("max_version", "TLS12 or TLS13"),
    ("headers", "a map such as {X-Frame-Options: deny}"),
];

/// Headers that exporter-toolkit lets a file set.
const HEADERS: [&str; 5] = [
    "Content-Security-Policy",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "X-XSS-Protection",
    "Strict-Transport-Security",
];

impl Form {
    /// Reads and checks the text of `path`, beside which relative files lie.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, WebError> {
        let wrong = |message: String| WebError::Form {
            path: path.display().to_string(),
            message,
        };
        if text.trim().is_empty() {
            return Err(wrong(
                "is empty; name tls_server_config or basic_auth_users".into(),
            ));
        }
        let mut form: Self = yaml::parse(text, RIGHTS).map_err(wrong)?;
        form.path = path.to_path_buf();
        form.check().map_err(wrong)?;
        Ok(form)
    }

    fn check(&self) -> Result<(), String> {
        if self.rate_limit.is_some() {
            return Err("rate_limit: not obeyed here, a scrape never asks a GPU; remove it".into());
        }
        for (user, hash) in &self.basic_auth_users {
            if user.contains(':') || !super::auth::is_hash(hash) {
                return Err(format!(
                    "basic_auth_users.{user}: not a bcrypt hash of a cost from 4 to 15; write that of `htpasswd -nBC 10 \"\"`"
                ));
            }
        }
        let Some(tls) = &self.tls_server_config else {
            return Ok(());
        };
        for (key, set, why) in [
            (
                "client_allowed_sans",
                !tls.client_allowed_sans.is_empty(),
                "names in certificates are not compared",
            ),
            (
                "cipher_suites",
                !tls.cipher_suites.is_empty(),
                "only suites without known weakness are offered",
            ),
            (
                "curve_preferences",
                !tls.curve_preferences.is_empty(),
                "the library's order is used",
            ),
        ] {
            if set {
                return Err(format!(
                    "tls_server_config.{key}: not obeyed here, {why}; remove it"
                ));
            }
        }
        for (one, two) in [
            (
                ("cert", tls.cert.is_some()),
                ("cert_file", tls.cert_file.is_some()),
            ),
            (
                ("key", tls.key.is_some()),
                ("key_file", tls.key_file.is_some()),
            ),
        ] {
            if one.1 == two.1 {
                return Err(format!(
                    "tls_server_config: write one of {} and {}",
                    one.0, two.0
                ));
            }
        }
        if tls.client_ca.is_some() && tls.client_ca_file.is_some() {
            return Err("tls_server_config: write one of client_ca and client_ca_file".into());
        }
        Ok(())
    }

    /// The files that it names.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let tls = self.tls_server_config.as_ref();
        let named = tls.map(|tls| [&tls.cert_file, &tls.key_file, &tls.client_ca_file]);
        let named = named.into_iter().flatten().flatten();
        named.map(|file| self.beside(file)).collect()
    }

    fn beside(&self, file: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    /// A text that stands in the file or in one that it names, and what to call it.
    fn material(
        &self,
        key: &str,
        inline: Option<&String>,
        file: Option<&PathBuf>,
    ) -> Result<Option<(String, String)>, WebError> {
        match (inline, file) {
            (Some(inline), _) => {
                let name = format!("{}: tls_server_config.{key}", self.path.display());
                Ok(Some((name, inline.clone())))
            }
            (None, Some(file)) => {
                let file = self.beside(file);
                Ok(Some((file.display().to_string(), text(&file)?)))
            }
            (None, None) => Ok(None),
        }
    }

    /// What TLS is spoken by; `None`: none.
    pub(super) fn tls(&self) -> Result<Option<Arc<rustls::ServerConfig>>, WebError> {
        let Some(tls) = &self.tls_server_config else {
            return Ok(None);
        };
        let wrong = |message: String| WebError::Form {
            path: self.path.display().to_string(),
            message: format!("tls_server_config.{message}"),
        };
        let clients = tls::Clients::named(tls.client_auth_type.as_deref()).map_err(wrong)?;
        let versions = tls::versions(tls.min_version.as_deref(), tls.max_version.as_deref());
        let material = tls::Material {
            chain: self.material("cert", tls.cert.as_ref(), tls.cert_file.as_ref())?,
            key: self.material("key", tls.key.as_ref(), tls.key_file.as_ref())?,
            signers: self.material(
                "client_ca",
                tls.client_ca.as_ref(),
                tls.client_ca_file.as_ref(),
            )?,
        };
        if matches!(clients, tls::Clients::Ignored) == material.signers.is_some() {
            return Err(wrong(
                "client_auth_type: RequireAndVerifyClientCert and client_ca_file need each other"
                    .into(),
            ));
        }
        let config = tls::config(material, clients, &versions.map_err(wrong)?);
        let config = config.map_err(|(path, message)| WebError::Certificate { path, message });
        // As exporter-toolkit's, these need no answer: HTTP/2 is never spoken, the order of suites is the library's.
        let _ = (
            tls.prefer_server_cipher_suites,
            self.http_server_config.http2,
        );
        Ok(Some(Arc::new(config?)))
    }

    /// Headers of every answer.
    pub(super) fn headers(&self) -> Result<hyper::HeaderMap, WebError> {
        let mut headers = hyper::HeaderMap::new();
        for (name, value) in &self.http_server_config.headers {
            let known = HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name));
            let sound = hyper::header::HeaderName::from_bytes(name.as_bytes()).ok();
            let (Some(name), Ok(value), true) = (sound, value.parse(), known) else {
                return Err(WebError::Form {
                    path: self.path.display().to_string(),
                    message: format!(
                        "http_server_config.headers.{name}: cannot be set; write one of {}",
                        HEADERS.join(", ")
                    ),
                });
            };
            headers.insert(name, value);
        }
        Ok(headers)
    }
}
