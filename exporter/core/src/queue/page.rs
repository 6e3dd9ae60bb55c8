//! The tables of all servers as a Markdown page.

use std::fmt::Write;

use super::{
    dialect::{ALL, Dialect, Efficiency, Source},
    discovery::{BATCH_LIMIT, PATH, PORT, SCHEME, SERVER},
};

/// The page.
pub fn markdown() -> String {
    let mut page = format!(
        "# Inference servers\n\nGenerated from the tables (`exporter/core/src/queue`); a test compares. In every row the \
         first name that a model\nhas is taken; names are never added. `kind: auto` tells a server by the beginnings of \
         its names.\n\nA pod of the exporter's own node is asked when an annotation says its port, path or kind of server:\n\n\
         | annotation | says |\n| --- | --- |\n\
         | `{PORT}` | port of the metrics; the server's usual one where `{SERVER}` names it |\n\
         | `{PATH}` | their path |\n| `{SCHEME}` | `http` or `https` |\n\
         | `{SERVER}` | a kind of those below, `auto`, or `none` for a pod that shall not be asked |\n\
         | `{BATCH_LIMIT}` | requests that one engine runs at once |\n\n\
         It is also asked when it has `prometheus.io/scrape: \"true\"` and an image of a server below, when a container of \
         such\nan image declares the usual port or no port, or when a container with GPUs declares one of the usual ports. \
         The last two\nare guesses: they are shown once the server has answered.\n"
    );
    for server in ALL {
        one(&mut page, server);
    }
    page
}

fn one(page: &mut String, server: &Dialect) {
    let _ = write!(
        page,
        "\n## {}\n\nUsual address: port {}, `{}`.\n\n| what | names |\n| --- | --- |\n",
        server.name, server.port, server.path
    );
    let mut row = |what: &str, names: String| {
        if !names.is_empty() {
            let _ = writeln!(page, "| {what} | {names} |");
        }
    };
    let plain = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        quoted.join(", ")
    };
    row("told by names that begin with", plain(server.marks));
    row("waiting", sources(server.waiting));
    row("running", sources(server.running));
    row("batch limit, by metric", sources(server.limit));
    let page_of = server.endpoint.map(|endpoint| {
        let port = endpoint.port.map(|port| format!(" on port {port}"));
        let port = port.unwrap_or_default();
        format!("`{}` of `{}`{port}", endpoint.key, endpoint.path)
    });
    row("batch limit, by page", page_of.unwrap_or_default());
    let options = [server.arguments, server.variables].concat();
    row("batch limit, by command line", plain(&options));
    row("batch efficiency", efficiency(&server.efficiency));
    row("cache of keys and values", sources(server.kv_usage));
    row("requests", sources(server.served));
    row("requests turned away", sources(server.rejected));
    row("time of a request", sources(server.latency));
    row("time to first token", sources(server.first_token));
    row("time per token", sources(server.per_token));
    row("stands still when idle", sources(server.progress));
    row("model", plain(server.model));
    row("ranks that are summed", plain(server.engines));
    row("ranks that repeat each other", plain(server.copies));
}

fn sources(all: &[Source]) -> String {
    all.iter().map(source).collect::<Vec<String>>().join(", ")
}

fn source(source: &Source) -> String {
    let only = source
        .only
        .map(|(label, value)| format!("{{{label}=\"{value}\"}}"));
    let divisor = if source.divisor == 1 {
        String::new()
    } else {
        format!(" / {}", source.divisor)
    };
    format!("`{}{}`{divisor}", source.name, only.unwrap_or_default())
}

fn efficiency(efficiency: &Efficiency) -> String {
    match efficiency {
        Efficiency::Running => "running over the batch limit".into(),
        Efficiency::MeanBatch(items, executions) => format!(
            "increase of {} over that of {}, over the batch limit",
            source(items),
            source(executions)
        ),
        Efficiency::Ratio(ratio) => format!("mean of the histogram {}", source(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the page lies on disk")]
    fn the_page_is_the_tables() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/inference-servers.md"
        );
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == markdown(),
            "docs/inference-servers.md differs; run with UPDATE_GOLDEN=1"
        );
    }
}
