//! Asks the API server for lists, with the account of the pod. Reads only; every list within one deadline.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};

use crate::config::kubernetes::Api;

pub(crate) mod pods;

pub(crate) mod slices;

pub(crate) mod batch;

pub(crate) mod config_map;

/// Bytes that one page may have.
const LARGEST: usize = 64 << 20;
/// Objects in one page.
const PAGE: &str = "500";
/// Pages of one list; more would be no list of one cluster.
const MOST_PAGES: usize = 1000;

/// Why a list did not come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// A file of the account.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file with certificates holds none, or the client cannot be made.
    #[error("cannot speak TLS to the API server: {0}")]
    Tls(reqwest::Error),
    /// No connection, or a broken one.
    #[error("no answer from the API server: {0}")]
    Unreachable(String),
    /// No answer in time.
    #[error("nothing from the API server within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// Another status than 200.
    #[error("the API server answered {status} for {path}{}", advice(*.status))]
    Status {
        /// HTTP's.
        status: u16,
        /// What was asked.
        path: String,
    },
    /// Too much.
    #[error("the answer for {path} is larger than {} MiB", LARGEST >> 20)]
    TooLarge {
        /// What was asked.
        path: String,
    },
    /// Not what was asked.
    #[error("the answer for {path} is not what was asked for: {source}")]
    Form {
        /// What was asked.
        path: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A `ConfigMap` without that key.
    #[error("{path} has no key {key}; put the counters file under it")]
    Key {
        /// What was asked.
        path: String,
        /// Its key.
        key: &'static str,
    },
}

/// What to do about a status.
fn advice(status: u16) -> &'static str {
    match status {
        401 => ": the token is not accepted",
        403 => ": the account may not read it; the chart's roles grant that",
        404 => ": there is none",
        _ => "",
    }
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
    #[serde(default)]
    metadata: ListMeta,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// A client with an account.
pub(crate) struct ApiServer {
    client: reqwest::Client,
    url: String,
    token: Option<PathBuf>,
}

impl ApiServer {
    /// For that server; reads its certificates once.
    pub(crate) fn new(api: &Api) -> Result<Self, ApiError> {
        crate::inference::ready_for_tls();
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none());
        if let Some(path) = &api.authority {
            let text = std::fs::read(path).map_err(|source| file(path, source))?;
            let signers = reqwest::Certificate::from_pem_bundle(&text).map_err(ApiError::Tls)?;
            builder = builder.tls_certs_only(signers);
        }
        Ok(Self {
            client: builder.build().map_err(ApiError::Tls)?,
            url: api.url.clone(),
            token: api.token.clone(),
        })
    }

    /// All objects at `path` that `query` selects, within `deadline` altogether.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        deadline: Duration,
    ) -> Result<Vec<T>, ApiError> {
        let all = tokio::time::timeout(deadline, self.pages(path, query)).await;
        all.map_err(|_| ApiError::Late(deadline))?
    }

    async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, ApiError> {
        let mut items = Vec::new();
        let mut next = String::new();
        for _ in 0..MOST_PAGES {
            let mut query = query.to_vec();
            query.push(("limit", PAGE));
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let text = self.page(path, &query).await?;
            let page: List<T> = serde_json::from_slice(&text).map_err(|source| ApiError::Form {
                path: path.into(),
                source,
            })?;
            items.extend(page.items);
            next = page.metadata.next.unwrap_or_default();
            if next.is_empty() {
                return Ok(items);
            }
        }
        // A part of a list is not the list.
        Err(ApiError::TooLarge { path: path.into() })
    }

    async fn page(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, ApiError> {
        let mut request = self.client.get(format!("{}{path}", self.url)).query(query);
        if let Some(token) = &self.token {
            let text = std::fs::read_to_string(token).map_err(|source| file(token, source))?;
            request = request.bearer_auth(text.trim());
        }
        let unreachable =
            |error: reqwest::Error| ApiError::Unreachable(crate::inference::innermost(&error));
        let mut answer = request.send().await.map_err(unreachable)?;
        let status = answer.status().as_u16();
        if status != 200 {
            let path = path.into();
            return Err(ApiError::Status { status, path });
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST {
                return Err(ApiError::TooLarge { path: path.into() });
            }
        }
        Ok(body)
    }
}

fn file(path: &std::path::Path, source: std::io::Error) -> ApiError {
    let path = path.display().to_string();
    ApiError::File { path, source }
}
