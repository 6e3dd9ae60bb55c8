//! Batch work as series.

use super::{Families, Labels};
use crate::{
    catalog::batch::{QUEUE_DEPTH, RUNNING},
    exposition::text::Value,
    queue::batch::Queue,
};

/// One queue; what it has not is 0, since the whole cluster was read.
pub(super) fn queue(families: &mut Families, queue: &Queue) {
    let mut labels = Labels::from([
        ("namespace", queue.namespace.clone()),
        ("kind", queue.kind.to_string()),
    ]);
    if !queue.queue.is_empty() {
        labels.insert("queue", queue.queue.clone());
    }
    families.add(&RUNNING, &labels, Value::Whole(queue.running));
    for (state, count) in [("pending", queue.pending), ("suspended", queue.suspended)] {
        labels.insert("state", state.to_string());
        families.add(&QUEUE_DEPTH, &labels, Value::Whole(count));
    }
}
