//! The ids under which device plugins hand GPUs to containers, in every form that is seen in clusters.

/// A device that an id names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// A GPU by its uuid.
    Gpu(String),
    /// A MIG device by its uuid.
    Mig(String),
    /// A GPU instance by its GPU's uuid, as drivers before 470 named them.
    InstanceOf {
        /// The GPU's uuid.
        gpu: String,
        /// Id of the GPU instance.
        instance: u32,
    },
    /// A GPU by the N of `/dev/nvidiaN`, as on GKE, or one of its GPU instances.
    Minor {
        /// N.
        minor: u32,
        /// Id of the GPU instance.
        instance: Option<u32>,
    },
}

/// An id, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    /// What it names.
    pub device: Device,
    /// Which share of it, where it is time-sliced or shared by the multi-process service.
    pub share: Option<String>,
}

impl Id {
    /// Reads `GPU-…`, `MIG-…`, `MIG-GPU-…/gi/ci`, each with `::n` behind it when shared, and `nvidiaN`,
    /// `nvidiaN/giM`, either with `/vgpuK` behind it. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, share) = match text.split_once("::") {
            Some((name, share)) if !share.is_empty() => (name, Some(share.to_string())),
            Some(_) => return None,
            None => (text, None),
        };
        if let Some(rest) = name.strip_prefix("MIG-GPU-") {
            let mut parts = rest.split('/');
            let (uuid, instance) = (parts.next()?, parts.next()?.parse().ok()?);
            parts.next()?.parse::<u32>().ok()?;
            let gpu = format!("GPU-{uuid}");
            let device = Device::InstanceOf { gpu, instance };
            return (parts.next().is_none()).then_some(Self { device, share });
        }
        if is_uuid(name, "MIG-") {
            let device = Device::Mig(name.into());
            return Some(Self { device, share });
        }
        if is_uuid(name, "GPU-") {
            let device = Device::Gpu(name.into());
            return Some(Self { device, share });
        }
        let mut parts = name.strip_prefix("nvidia")?.split('/');
        let minor = number(parts.next()?)?;
        let mut instance = None;
        let mut share = share;
        for part in parts {
            if let (Some(id), None, None) = (part.strip_prefix("gi"), instance, &share) {
                instance = Some(number(id)?);
            } else if let (Some(id), None) = (part.strip_prefix("vgpu"), &share) {
                share = Some(number(id)?.to_string());
            } else {
                return None;
            }
        }
        let device = Device::Minor { minor, instance };
        Some(Self { device, share })
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn is_uuid(text: &str, prefix: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (text.strip_prefix(prefix)).is_some_and(|uuid| !uuid.is_empty() && uuid.bytes().all(sound))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "5c89852c-d268-c3f3-1b07-005d5ae1dc3f";

    #[test]
    fn every_form_is_read() {
        let gpu = format!("GPU-{UUID}");
        let mig = format!("MIG-{UUID}");
        let minor = |minor, instance| Device::Minor { minor, instance };
        let old = Device::InstanceOf {
            gpu: gpu.clone(),
            instance: 7,
        };
        for (text, device, share) in [
            (gpu.clone(), Device::Gpu(gpu.clone()), None),
            (format!("{gpu}::3"), Device::Gpu(gpu.clone()), Some("3")),
            (mig.clone(), Device::Mig(mig.clone()), None),
            (format!("{mig}::0"), Device::Mig(mig.clone()), Some("0")),
            (format!("MIG-{gpu}/7/0"), old.clone(), None),
            (format!("MIG-{gpu}/7/0::1"), old, Some("1")),
            ("nvidia0".into(), minor(0, None), None),
            ("nvidia10/gi3".into(), minor(10, Some(3)), None),
            ("nvidia1/gi3/vgpu2".into(), minor(1, Some(3)), Some("2")),
            ("nvidia1/vgpu0".into(), minor(1, None), Some("0")),
        ] {
            let share = share.map(String::from);
            assert_eq!(Id::parse(&text), Some(Id { device, share }), "{text}");
        }
    }

    #[test]
    fn what_is_none_of_them_is_refused() {
        for text in [
            "",
            "nvidia",
            "nvidiax",
            "nvidia0/",
            "nvidia0/gi",
            "nvidia0/vgpu1/gi2",
            "nvidia0/gi1/gi2",
            "nvidia+1",
            "GPU-",
            "GPU-xyz",
            "GPU-12::",
            "MIG-GPU-12/1",
            "MIG-GPU-12/1/0/0",
            "gpu-0",
        ] {
            assert_eq!(Id::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(GPU-|MIG-|MIG-GPU-|nvidia)?[0-9a-f/:vgpui]{0,20}") {
            let _ = Id::parse(&text);
        }
    }
}
