//! Which pod a process belongs to, from the text of `/proc/PID/cgroup`: cgroup v1 and v2, systemd's and the
//! plain driver, containerd, CRI-O and Docker. Never reads the file.

/// What the path of a cgroup names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Uid of the pod, as the API server spells it.
    pub pod_uid: String,
    /// Id of the container, where the path goes down to it.
    pub container_id: Option<String>,
}

/// Reads the lines `hierarchy:controllers:path`; the first path that names a pod counts.
pub fn member(text: &str) -> Option<Member> {
    text.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        in_path(path)
    })
}

fn in_path(path: &str) -> Option<Member> {
    let mut steps = path.split('/');
    let pod_uid = steps.find_map(pod)?;
    let container_id = steps.find_map(container);
    Some(Member {
        pod_uid,
        container_id,
    })
}

/// `pod<uid>` or `kubepods-burstable-pod<uid with _>.slice`.
fn pod(step: &str) -> Option<String> {
    let step = step.strip_suffix(".slice").unwrap_or(step);
    let uid = match step.rsplit_once("-pod") {
        Some((before, uid)) if before.starts_with("kubepods") => uid,
        _ => step
            .strip_prefix("kubepods-pod")
            .or(step.strip_prefix("pod"))?,
    };
    let uid = uid.replace('_', "-");
    let sound = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    // A static pod's uid is the 32 digits of a hash.
    (uid.len() >= 32 && uid.len() <= 36 && uid.bytes().all(sound)).then_some(uid)
}

/// `<id>`, `cri-containerd-<id>.scope`, `crio-<id>.scope` or `docker-<id>.scope`.
fn container(step: &str) -> Option<String> {
    let step = step.strip_suffix(".scope").unwrap_or(step);
    let id = step.rsplit('-').next()?;
    let sound = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    // CRI-O's monitor of a container is not the container.
    (sound && !step.contains("conmon")).then(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0f2b8e6c-7a31-4c0d-9d2e-5b1f3c4a6d7e";

    #[test]
    fn every_form_is_read() {
        let id = "ab".repeat(32);
        let flat = UID.replace('-', "_");
        let slice =
            format!("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{flat}.slice");
        for text in [
            format!("0::/{slice}/cri-containerd-{id}.scope\n"),
            format!("0::/{slice}/crio-{id}.scope/container\n"),
            format!("0::/{slice}/docker-{id}.scope\n"),
            format!("0::/kubepods.slice/kubepods-pod{flat}.slice/cri-containerd-{id}.scope"),
            format!("0::/kubepods/besteffort/pod{UID}/{id}\n"),
            format!("0::/kubepods/pod{UID}/{id}"),
            format!("0::/kubelet.slice/kubelet-{slice}/cri-containerd-{id}.scope")
                .replace("kubelet-kubepods.slice", "kubelet-kubepods.slice"),
            format!(
                "12:memory:/user.slice\n5:devices:/kubepods/burstable/pod{UID}/{id}\n1:name=systemd:/x\n"
            ),
            format!("11:cpuset:/{slice}/docker-{id}.scope\n0::/\n"),
            format!("0::/../../{slice}/cri-containerd-{id}.scope"),
        ] {
            let expected = Member {
                pod_uid: UID.into(),
                container_id: Some(id.clone()),
            };
            assert_eq!(member(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_pod_without_its_container_is_still_a_pod() {
        let monitor = format!(
            "0::/kubepods/pod{UID}/crio-conmon-{}.scope",
            "ab".repeat(32)
        );
        let found = member(&monitor).unwrap();
        assert_eq!((found.pod_uid.as_str(), found.container_id), (UID, None));
        let hash = "0123456789abcdef".repeat(2);
        let fixed = member(&format!("0::/kubepods/burstable/pod{hash}/x")).unwrap();
        assert_eq!(fixed.pod_uid, hash);
    }

    #[test]
    fn other_processes_belong_to_no_pod() {
        for text in [
            "",
            "0::/",
            "0::/system.slice/kubelet.service",
            "0::/user.slice/user-1000.slice/session-2.scope",
            "0::/kubepods/podium/x",
            "nonsense",
            "5:devices:/docker/abc",
        ] {
            assert_eq!(member(text), None, "{text}");
        }
    }
}
