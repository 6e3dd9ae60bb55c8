//! The custom resource on a real API server: what is right is accepted, what is wrong is refused with a
//! message that names the field.

use std::fs;

use tests::control_plane::ControlPlane;

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_accepts_good_objects_and_refuses_bad_ones_by_field() {
    let plane = ControlPlane::api_server().await.unwrap();
    plane.install_definitions().await.unwrap();
    let mut counts = (0, 0);
    let mut files: Vec<_> = fs::read_dir(tests::root().join("tests/config"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = path.display().to_string();
        let result = plane.kubectl(&["apply", "--server-side", "--dry-run=server", "-f", &file]);
        if name.ends_with(".good.yaml") {
            counts.0 += 1;
            result.unwrap_or_else(|error| panic!("{name} is refused: {error}"));
        } else if name.ends_with(".bad.yaml") {
            counts.1 += 1;
            let text = fs::read_to_string(&path).unwrap();
            let expected = text
                .lines()
                .next()
                .unwrap()
                .strip_prefix("# expect: ")
                .unwrap();
            let error = result
                .expect_err(&format!("{name} is accepted"))
                .to_string();
            assert!(
                error.contains(expected),
                "{name}: '{expected}' is not in: {error}"
            );
        }
    }
    assert!(counts.0 >= 2 && counts.1 >= 15, "{counts:?} files");
}
