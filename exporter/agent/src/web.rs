//! Who may speak to the exporter: TLS and passwords by the web configuration file of Prometheus' exporter-toolkit. The
//! file and those that it names are read anew when they change; what cannot be used never takes the place of what is in
//! force, and never opens the port.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use crate::config::file::{self, FileError};

use auth::Users;
pub(crate) use auth::Verdict;
use form::Form;

mod auth;

mod form;

mod tls;

/// Why a web configuration is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    /// A file that cannot be read.
    #[error("{path}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: FileError,
    },
    /// Not YAML, an unknown key, a value that cannot be.
    #[error("{path}: {message}")]
    Form {
        /// The file.
        path: String,
        /// What and where, in one line.
        message: String,
    },
    /// Certificates that cannot be used.
    #[error("{path}: {message}")]
    Certificate {
        /// The file, or the key of the web configuration that holds it.
        path: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

/// What is in force for one connection.
#[derive(Default)]
pub(crate) struct Rules {
    /// Set: the port speaks TLS alone.
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    /// Headers of every answer.
    pub(crate) headers: hyper::HeaderMap,
    users: Users,
}

impl Rules {
    /// Whether who says `authorization` (the header) may read. Takes long for a password not seen before.
    pub(crate) async fn judge(&self, authorization: Option<&[u8]>) -> Verdict {
        self.users.judge(authorization).await
    }
}

/// When each file was last written, as far as that can be read.
type Stamps = Vec<(PathBuf, Option<SystemTime>)>;

/// A web configuration that is followed.
pub(crate) struct Web {
    path: Option<PathBuf>,
    current: Mutex<(Stamps, Arc<Rules>)>,
}

impl Web {
    /// Reads `path`; without one everybody may read, in the clear.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, WebError> {
        let current = path.map(read).transpose()?.unwrap_or_default();
        Ok(Self {
            path: path.map(Path::to_path_buf),
            current: Mutex::new(current),
        })
    }

    /// What is in force now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.path {
            let stamps = stamps(current.0.iter().map(|(path, _)| path.clone()));
            if stamps != current.0 {
                // Taken as seen, so that what is wrong is said once.
                current.0 = stamps;
                match anew(path, &current.1) {
                    Ok(new) => {
                        tracing::info!(file = %path.display(), "web configuration read anew");
                        *current = new;
                    }
                    Err(error) => {
                        let why = format!("{:#}", anyhow::Error::from(error));
                        tracing::error!(
                            why,
                            "cannot use the web configuration; that from before is in force"
                        );
                    }
                }
            }
        }
        Arc::clone(&current.1)
    }
}

fn anew(path: &Path, old: &Rules) -> Result<(Stamps, Arc<Rules>), WebError> {
    let new = read(path)?;
    if new.1.tls.is_some() == old.tls.is_some() {
        return Ok(new);
    }
    Err(WebError::Form {
        path: path.display().to_string(),
        message: "TLS cannot be switched on or off while it serves; start it anew".into(),
    })
}

/// The rules of a file, and the files that they came from.
fn read(path: &Path) -> Result<(Stamps, Arc<Rules>), WebError> {
    let form = Form::parse(path, &text(path)?)?;
    let files = form.files();
    // Before they are read: what changes meanwhile is seen as a change.
    let stamps = stamps(std::iter::once(path.to_path_buf()).chain(files));
    let rules = Rules {
        tls: form.tls()?,
        headers: form.headers()?,
        users: Users::new(form.basic_auth_users),
    };
    Ok((stamps, Arc::new(rules)))
}

fn stamps(files: impl Iterator<Item = PathBuf>) -> Stamps {
    files
        .map(|path| {
            let written = std::fs::metadata(&path).and_then(|about| about.modified());
            (path, written.ok())
        })
        .collect()
}

fn text(path: &Path) -> Result<String, WebError> {
    file::read(path).map_err(|source| WebError::File {
        path: path.display().to_string(),
        source,
    })
}
