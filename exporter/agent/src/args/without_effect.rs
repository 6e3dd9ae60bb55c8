//! Flags and environment variables of dcgm-exporter that have no use here: what is asked of DCGM itself, of switches
//! and CPUs, or of dcgm-exporter's own insides. They are taken, so that its manifests start this program too, and each
//! one that is set is said to be without effect.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};

/// One of them.
struct Flag {
    long: &'static str,
    short: Option<char>,
    variable: &'static str,
    /// Whether a value follows, as `--flag value`; else `--flag` or `--flag=true`.
    value: bool,
    /// What to do instead, or why there is nothing to do.
    instead: &'static str,
}

const fn value(
    long: &'static str,
    short: Option<char>,
    variable: &'static str,
    instead: &'static str,
) -> Flag {
    Flag {
        long,
        short,
        variable,
        value: true,
        instead,
    }
}

const fn switch(long: &'static str, variable: &'static str, instead: &'static str) -> Flag {
    Flag {
        long,
        short: None,
        variable,
        value: false,
        instead,
    }
}

const FLAGS: [Flag; 23] = [
    value(
        "cpu-devices",
        Some('p'),
        "DCGM_EXPORTER_CPU_DEVICES_STR",
        "CPUs are not read",
    ),
    value(
        "switch-devices",
        Some('s'),
        "DCGM_EXPORTER_OTHER_DEVICES_STR",
        "switches are not read",
    ),
    value(
        "remote-hostengine-info",
        Some('r'),
        "DCGM_REMOTE_HOSTENGINE_INFO",
        "GPUs are read without a hostengine",
    ),
    value(
        "dcgm-log-level",
        None,
        "DCGM_EXPORTER_DCGM_LOG_LEVEL",
        "there is no DCGM",
    ),
    value(
        "dump-directory",
        None,
        "DCGM_EXPORTER_DUMP_DIRECTORY",
        "--once prints what is served",
    ),
    value(
        "dump-retention",
        None,
        "DCGM_EXPORTER_DUMP_RETENTION",
        "--once prints what is served",
    ),
    value(
        "hpc-job-mapping-dir",
        None,
        "DCGM_HPC_JOB_MAPPING_DIR",
        "jobs of HPC schedulers are not read",
    ),
    value(
        "gpu-bind-unbind-poll-interval",
        None,
        "DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL",
        "every gather finds GPUs that come and go",
    ),
    value(
        "config-file",
        None,
        "DCGM_EXPORTER_CONFIG_FILE",
        "write --config, in this program's own form",
    ),
    value(
        "kubernetes-gpu-id-type",
        None,
        "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE",
        "every form of id is understood",
    ),
    value(
        "kubernetes-pod-label-allowlist-regex",
        None,
        "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX",
        "labels of pods are not served",
    ),
    switch(
        "kubernetes-enable-pod-labels",
        "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS",
        "labels of pods are not served",
    ),
    switch(
        "kubernetes-enable-pod-uid",
        "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID",
        "uids of pods are not served",
    ),
    switch(
        "kubernetes-virtual-gpus",
        "KUBERNETES_VIRTUAL_GPUS",
        "all sharers of a GPU are listed in any case",
    ),
    switch(
        "kubernetes-enable-dra",
        "KUBERNETES_ENABLE_DRA",
        "DRA claims are read in any case",
    ),
    switch(
        "enable-dcgm-log",
        "DCGM_EXPORTER_ENABLE_DCGM_LOG",
        "there is no DCGM",
    ),
    switch(
        "fake-gpus",
        "DCGM_EXPORTER_USE_FAKE_GPUS",
        "write --simulated",
    ),
    switch(
        "dump-enabled",
        "DCGM_EXPORTER_DUMP_ENABLED",
        "--once prints what is served",
    ),
    switch(
        "dump-compression",
        "DCGM_EXPORTER_DUMP_COMPRESSION",
        "--once prints what is served",
    ),
    switch(
        "disable-startup-validate",
        "DISABLE_STARTUP_VALIDATE",
        "nothing is demanded of the machine at the start",
    ),
    switch(
        "enable-gpu-bind-unbind-watch",
        "DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH",
        "every gather finds GPUs that come and go",
    ),
    switch(
        "enable-pprof",
        "DCGM_EXPORTER_ENABLE_PPROF",
        "there is no Go program to look into",
    ),
    switch(
        "web-systemd-socket",
        "DCGM_EXPORTER_SYSTEMD_SOCKET",
        "write --address",
    ),
];

/// Those that were set, each with what to do instead.
#[derive(Debug, Default)]
pub(crate) struct WithoutEffect(Vec<(&'static str, &'static str)>);

impl WithoutEffect {
    /// Says each of them once.
    pub(crate) fn report(&self) {
        for (flag, instead) in &self.0 {
            tracing::warn!(flag, instead, "without effect here");
        }
    }
}

impl clap::Args for WithoutEffect {
    fn augment_args(command: Command) -> Command {
        let arg = |flag: &Flag| {
            let arg = Arg::new(flag.long)
                .long(flag.long)
                .env(flag.variable)
                .hide(true);
            let arg = match flag.short {
                Some(short) => arg.short(short),
                None => arg,
            };
            let arg = arg.action(ArgAction::Set);
            if flag.value {
                arg.allow_hyphen_values(true)
            } else {
                arg.num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true")
            }
        };
        command.args(FLAGS.iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for WithoutEffect {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all = Self::default();
        all.update_from_arg_matches(matches)?;
        Ok(all)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let set = |flag: &&Flag| {
            let value = matches.get_one::<String>(flag.long);
            let meant =
                value.is_some_and(|value| !matches!(value.as_str(), "" | "false" | "none" | "f"));
            meant && matches.value_source(flag.long) != Some(ValueSource::DefaultValue)
        };
        self.0 = FLAGS
            .iter()
            .filter(set)
            .map(|flag| (flag.long, flag.instead))
            .collect();
        Ok(())
    }
}
