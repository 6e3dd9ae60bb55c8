//! What is served under DCGM's names: decided at the start, and anew on SIGHUP. Counters that cannot be used never take
//! the place of those that are served.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use exporter_core::contract::Contract;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use super::node;
use crate::{
    apiserver::{ApiServer, config_map},
    args::Args,
    config::{self, Config, contract::of_text},
};

/// Time for the API server to give a `ConfigMap`.
const DEADLINE: Duration = Duration::from_secs(10);

/// The contract of the `ConfigMap` that `config` names; as in dcgm-exporter that of the counters file where it names none
/// or where it cannot be read. Fails on a row that is wrong.
pub(super) async fn read(config: &Config) -> anyhow::Result<Arc<Contract>> {
    let Some((namespace, name)) = &config.counters_map else {
        return Ok(Arc::clone(&config.contract));
    };
    let map = format!("{namespace}:{name}");
    let text = match &config.kubernetes.api {
        None => Err("no API server is known: KUBERNETES_SERVICE_HOST is not set".to_owned()),
        Some(api) => {
            let api = ApiServer::new(api).context("kubernetes.apiServer")?;
            let text = config_map::counters(&api, (namespace, name), DEADLINE).await;
            text.map_err(|error| error.to_string())
        }
    };
    match text {
        Ok(text) => {
            let contract = of_text(&config.contract, &text, &map);
            Ok(Arc::new(
                contract.with_context(|| format!("ConfigMap {map}"))?,
            ))
        }
        Err(why) => {
            tracing::warn!(
                map,
                why,
                "cannot read the ConfigMap; the counters file counts"
            );
            Ok(Arc::clone(&config.contract))
        }
    }
}

/// Reads the counters anew at every SIGHUP. Other settings need a restart.
pub(super) async fn follow(
    args: &Args,
    served: watch::Sender<Arc<Contract>>,
) -> anyhow::Result<()> {
    let mut told = signal(SignalKind::hangup()).context("cannot watch for SIGHUP")?;
    while told.recv().await.is_some() {
        match anew(args).await {
            Ok(contract) => {
                served.send_replace(contract);
                tracing::info!("counters read anew");
            }
            Err(error) => {
                let why = format!("{error:#}");
                tracing::error!(why, "cannot use the counters; those from before are served");
            }
        }
    }
    Ok(())
}

async fn anew(args: &Args) -> anyhow::Result<Arc<Contract>> {
    read(&config::load(args, node::hostname(), node::service())?).await
}
