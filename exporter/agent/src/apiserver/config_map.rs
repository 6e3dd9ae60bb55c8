//! One `ConfigMap` that holds a counters file, as dcgm-exporter's `-m` names it.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use super::{ApiError, ApiServer};

/// dcgm-exporter's key.
const KEY: &str = "metrics";

#[derive(Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

/// The text under the key `metrics`, within `deadline`.
pub(crate) async fn counters(
    api: &ApiServer,
    (namespace, name): (&str, &str),
    deadline: Duration,
) -> Result<String, ApiError> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
    let answer = tokio::time::timeout(deadline, api.page(&path, &[])).await;
    let answer = answer.map_err(|_| ApiError::Late(deadline))??;
    let map: Result<ConfigMap, _> = serde_json::from_slice(&answer);
    let mut map = map.map_err(|source| ApiError::Form {
        path: path.clone(),
        source,
    })?;
    map.data.remove(KEY).ok_or(ApiError::Key { path, key: KEY })
}
