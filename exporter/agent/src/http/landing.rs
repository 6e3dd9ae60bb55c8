//! The page at `/`: what this is, how its sources fare, and where the metrics are. No script.

use std::fmt::Write;

use exporter_core::snapshot::{Snapshot, SourceStatus};

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}\
h1{font-size:1.5rem;margin-bottom:0}p.sub{margin-top:.2rem;opacity:.7}\
table{border-collapse:collapse;width:100%;margin:1rem 0}\
th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #8884;vertical-align:top}\
.ok{color:#1a7f37}.bad{color:#cf222e}nav a{margin-right:1rem}code{font-size:.9em}";

/// The page for `snapshot`.
pub(super) fn page(snapshot: &Snapshot, version: &str) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Foresail exporter</title><style>{STYLE}</style></head><body>\
         <h1>Foresail exporter</h1><p class=\"sub\">{} · version {version}</p>\
         <nav><a href=\"/metrics\">Metrics</a><a href=\"/healthz\">Health</a>\
         <a href=\"/readyz\">Readiness</a></nav>\
         <table><thead><tr><th>Source</th><th>State</th></tr></thead><tbody>",
        escape(&snapshot.hostname)
    );
    for source in &snapshot.sources {
        let target = source.target.as_deref().map(escape);
        let name = escape(&source.name);
        let name = target.map_or_else(
            || name.clone(),
            |target| format!("{name} <code>{target}</code>"),
        );
        let (class, state) = state(source);
        let _ = write!(
            page,
            "<tr><td>{name}</td><td class=\"{class}\">{}</td></tr>",
            escape(&state)
        );
    }
    let _ = writeln!(
        page,
        "</tbody></table><p>GPUs: {} · models on inference servers: {}</p></body></html>",
        snapshot.gpus.len(),
        snapshot.servers.len()
    );
    page
}

fn state(source: &SourceStatus) -> (&'static str, String) {
    if source.success {
        return ("ok", "works".into());
    }
    let reason = source
        .reason
        .as_deref()
        .unwrap_or("no answer yet, or none for too long");
    let how = if source.up {
        "incomplete"
    } else {
        "not reached"
    };
    ("bad", format!("{how}: {reason}"))
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sources_say_is_escaped() {
        let mut snapshot = Snapshot::default();
        snapshot.sources.push(SourceStatus {
            name: "vllm".into(),
            reason: Some("<script>alert(1)</script>".into()),
            ..SourceStatus::default()
        });
        let page = page(&snapshot, "0");
        assert!(page.contains("not reached: &lt;script&gt;") && !page.contains("<script"));
    }
}
