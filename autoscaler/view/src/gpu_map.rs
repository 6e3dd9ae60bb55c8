//! GPUs by node, coloured by how busy they are, with the number as text: colour alone says nothing to
//! some readers. What is not known is said to be so, never shown as idle.

use std::fmt::Write as _;

use autoscaler_core::snapshot::{Gpu, Node};

use crate::escape;

/// Writes the map.
pub(crate) fn write(html: &mut String, nodes: &[Node]) {
    html.push_str("<section><h2>GPUs</h2>");
    for node in nodes {
        // Writing to a String cannot fail.
        let model = node
            .gpus
            .first()
            .map(|gpu| gpu.model.as_str())
            .unwrap_or_default();
        let _ = write!(
            html,
            "<div>{} <small>{}</small></div><div class=\"gpus\">",
            escape(&node.name),
            escape(model)
        );
        for gpu in &node.gpus {
            cell(html, gpu);
        }
        html.push_str("</div>");
    }
    html.push_str("</section>");
}

fn cell(html: &mut String, gpu: &Gpu) {
    let (back, text, label) = match gpu.utilization {
        Some(busy) => {
            let busy = busy.clamp(0.0, 1.0);
            // From grey-green for idle to green for busy, never so dark that dark text is hard to read.
            let light = 88.0 - 36.0 * busy;
            let text = "#10222b";
            (
                format!("hsl(168 {:.0}% {light:.0}%)", 18.0 + 47.0 * busy),
                text,
                format!("{:.0} %", busy * 100.0),
            )
        }
        None => (
            "var(--line)".to_owned(),
            "var(--text)",
            "unknown".to_owned(),
        ),
    };
    let target = gpu
        .target
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let _ = write!(
        html,
        "<div class=\"gpu\" style=\"background:{back};color:{text}\" title=\"{}\">GPU {}<br>{label}</div>",
        escape(&target),
        gpu.index
    );
}
