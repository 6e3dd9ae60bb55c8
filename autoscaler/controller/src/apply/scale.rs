//! Writes the scale subresource of one target. Refuses when the target is not as the plan saw it.

use autoscaler_api::InferenceScaler;
use autoscaler_core::plan::Decision;
use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
};

use super::Outcome;
use crate::observe::cluster::Stores;

/// Puts `decision.to` when the replicas are still `decision.from`; the resource version read here is
/// the precondition of the write.
pub async fn write(
    client: &Client,
    stores: &mut Stores,
    scaler: &InferenceScaler,
    decision: &Decision,
) -> Outcome {
    let reference = &scaler.spec.scale_target_ref;
    let resource = match stores
        .kind(client, &reference.api_version, &reference.kind)
        .await
    {
        Ok(resource) => resource,
        Err(message) => return Outcome::Failed(message),
    };
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &decision.target.namespace, &resource);
    let mut scale = match api.get_scale(&reference.name).await {
        Ok(scale) => scale,
        Err(error) => {
            return Outcome::Failed(format!("the scale subresource cannot be read: {error}"));
        }
    };
    let (from, to) = (i32::try_from(decision.from.0), i32::try_from(decision.to.0));
    let spec = scale.spec.get_or_insert_default();
    if Ok(spec.replicas.unwrap_or(0)) != from {
        return Outcome::Conflict;
    }
    spec.replicas = to.ok();
    let parameters = PostParams {
        field_manager: Some("foresail-autoscaler".to_owned()),
        ..PostParams::default()
    };
    match api
        .replace_scale(&reference.name, &parameters, &scale)
        .await
    {
        Ok(_) => Outcome::Scaled,
        Err(kube::Error::Api(status)) if status.code == 409 => Outcome::Conflict,
        Err(error) => Outcome::Failed(format!("the scale subresource cannot be written: {error}")),
    }
}
