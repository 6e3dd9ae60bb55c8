//! The look of the page: one column on a phone, two on a desk, light and dark by the reader's setting.

/// The style sheet.
pub(crate) const CSS: &str = "
:root{--back:#f6f7f9;--card:#fff;--text:#1b2733;--soft:#5b6b7b;--line:#dfe4ea;--load:#1b2733;--band:#8db8e8;--want:#1769c2;--ready:#12805c;--rival:#b4540a}
@media(prefers-color-scheme:dark){:root{--back:#10151b;--card:#18202a;--text:#e6ebf0;--soft:#9aa9b8;--line:#2b3642;--load:#e6ebf0;--band:#2f5f93;--want:#6cb0ff;--ready:#4fd1a5;--rival:#f2a65a}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
header{padding:20px 16px 4px;max-width:1200px;margin:auto}h1{margin:0;font-size:22px}header p{margin:4px 0;color:var(--soft)}
main{max-width:1200px;margin:auto;padding:8px 16px 32px}section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;margin:12px 0}
h2{margin:0 0 6px;font-size:16px}.now{margin:0 0 8px;color:var(--soft);overflow-wrap:anywhere}
.charts{display:grid;gap:16px;grid-template-columns:1fr}@media(min-width:900px){.charts{grid-template-columns:1fr 1fr}}
figure{margin:0}svg{width:100%;height:auto;display:block;overflow:visible}svg text{fill:var(--soft);font:13px system-ui,sans-serif}
figcaption{font-size:13px;color:var(--soft)}.key{display:inline-block;width:14px;height:4px;border-radius:2px;margin:0 5px 3px 12px;vertical-align:middle}.key:first-of-type{margin-left:0}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--line);white-space:nowrap}th:first-child,td:first-child{text-align:left;padding-left:0}th{color:var(--soft);font-weight:600}
.changes{list-style:none;margin:0;padding:0}.changes li{padding:5px 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}.changes time{color:var(--soft);font-variant-numeric:tabular-nums}
.gpus{display:flex;flex-wrap:wrap;gap:6px;margin:4px 0 12px}.gpu{width:58px;padding:6px 4px;border-radius:6px;text-align:center;font-size:12px;line-height:1.25}
@media(max-width:600px){svg text{font-size:21px}section{padding:12px}th,td{padding:5px 3px;font-size:12px;vertical-align:bottom}th,td:first-child{white-space:normal}}
";
