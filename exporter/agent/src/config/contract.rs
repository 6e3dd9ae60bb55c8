//! What is served under DCGM's names: dcgm-exporter's counters file, dialect and choice of devices, read and checked.

use std::{path::Path, sync::Arc};

use exporter_core::contract::{
    Contract, Dialect, Hostname, Version, Windows, counters::CountersError,
};

use super::file::{self, FileError};
use crate::args::{Args, Switch};

/// Files that are part of dcgm-exporter's image; where they are absent, the default set is what they hold.
const BUILT_IN: [&str; 2] = [
    "/etc/dcgm-exporter/default-counters.csv",
    "/etc/dcgm-exporter/dcp-metrics-included.csv",
];

/// Why a counters file is refused. Messages follow the file's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContractError {
    /// Not a file to read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A row that is wrong.
    #[error(transparent)]
    Counters(#[from] CountersError),
}

/// The contract of `counters` (without one: the default set), in the dialect that `args` choose over `version`.
pub(super) fn load(
    args: &Args,
    version: Version,
    counters: Option<&Path>,
    budget: Option<usize>,
) -> Result<Arc<Contract>, ContractError> {
    let on = |switch: Option<Switch>| switch.is_some_and(|switch| switch.0);
    let mut dialect = Dialect::of(version);
    dialect.old_namespace = on(args.dcgm.use_old_namespace);
    dialect.dashes_in_model = on(args.dcgm.replace_blanks_in_model_name);
    if on(args.dcgm.no_hostname) {
        dialect.hostname = Hostname::Absent;
    }
    let mut contract = match counters {
        None => Contract::new(dialect),
        Some(path) => read(path, dialect)?,
    };
    contract.devices = args.dcgm.devices.clone().unwrap_or_default();
    contract.budget = budget;
    let default = contract.windows;
    contract.windows = Windows {
        xids: args.dcgm.xid_count_window_size.unwrap_or(default.xids),
        clock_events: (args.dcgm.clock_events_count_window_size).unwrap_or(default.clock_events),
    };
    Ok(Arc::new(contract))
}

fn read(path: &Path, dialect: Dialect) -> Result<Contract, ContractError> {
    let built_in = BUILT_IN.iter().any(|name| Path::new(name) == path);
    let text = match file::read(path) {
        Err(FileError::Unreadable(_)) if built_in => {
            tracing::info!(file = %path.display(), "serving the default set, which this file of dcgm-exporter holds");
            return Ok(Contract::new(dialect));
        }
        text => text?,
    };
    rows(&text, dialect, &path.display().to_string()).map_err(Into::into)
}

/// The contract of a counters file that came from elsewhere, in all else like `base`; `name` says where from.
pub(crate) fn of_text(base: &Contract, text: &str, name: &str) -> Result<Contract, CountersError> {
    let mut contract = rows(text, base.dialect(), name)?;
    contract.devices = base.devices.clone();
    contract.budget = base.budget;
    contract.windows = base.windows;
    Ok(contract)
}

fn rows(text: &str, dialect: Dialect, name: &str) -> Result<Contract, CountersError> {
    let (contract, left) = Contract::read(text, dialect)?;
    for row in left {
        tracing::warn!(file = %name, line = row.line, field = row.name, why = row.why, "row left out");
    }
    Ok(contract)
}
