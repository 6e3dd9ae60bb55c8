//! Who may read: TLS and passwords by a web configuration file, spoken to by a real client over real TLS.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use rcgen::{CertificateParams, Issuer, KeyPair};
use reqwest::{Certificate, Client, Identity, StatusCode};
use tempfile::TempDir;

use crate::exporter::{Exporter, output, text};

const SIMULATED: [&str; 2] = ["--simulated", "1xL4"];
/// Of "open sesame", at bcrypt's lowest cost.
fn hash() -> String {
    bcrypt::hash("open sesame", 4).unwrap()
}

/// A folder with a signer's certificate, the server's, a client's, and their keys.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    write(
        folder.path(),
        "ca.crt",
        &params.self_signed(&key).unwrap().pem(),
    );
    let issuer = Issuer::new(params, key);
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let signed = params.signed_by(&key, &issuer).unwrap();
        write(folder.path(), &format!("{name}.crt"), &signed.pem());
        write(folder.path(), &format!("{name}.key"), &key.serialize_pem());
    }
    folder
}

/// In one step, as a mounted Secret changes.
fn write(folder: &Path, name: &str, content: &str) {
    fs::write(folder.join("next"), content).unwrap();
    fs::rename(folder.join("next"), folder.join(name)).unwrap();
}

fn serve(folder: &Path, rules: &str) -> Exporter {
    write(folder, "web.yaml", rules);
    let path = folder.join("web.yaml").display().to_string();
    Exporter::start(&[&SIMULATED[..], &["--web-config-file", &path]].concat())
}

fn client(folder: &Path, identity: bool) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let signer = Certificate::from_pem(&read("ca.crt")).unwrap();
    // Each request connects anew, so that it sees what is in force then.
    let client = Client::builder()
        .no_proxy()
        .tls_certs_only([signer])
        .pool_max_idle_per_host(0);
    let client = if identity {
        let both = [read("client.key"), read("client.crt")].concat();
        client.identity(Identity::from_pem(&both).unwrap())
    } else {
        client
    };
    client.build().unwrap()
}

async fn status(
    client: &Client,
    exporter: &Exporter,
    login: Option<(&str, &str)>,
) -> Option<StatusCode> {
    let port = exporter.address.port();
    let request = client.get(format!("https://localhost:{port}/metrics"));
    let request = match login {
        Some((name, password)) => request.basic_auth(name, Some(password)),
        None => request,
    };
    Some(request.send().await.ok()?.status())
}

const TLS: &str = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n";

#[tokio::test]
async fn tls_and_passwords_guard_every_page() {
    let folder = certificates();
    let rules = format!(
        "{TLS}basic_auth_users: {{alice: \"{}\"}}\nhttp_server_config: {{headers: {{X-Frame-Options: deny}}}}\n",
        hash()
    );
    let exporter = serve(folder.path(), &rules);
    let client = client(folder.path(), false);
    let right = Some(("alice", "open sesame"));
    assert_eq!(
        status(&client, &exporter, right).await,
        Some(StatusCode::OK)
    );
    for wrong in [None, Some(("alice", "open")), Some(("bob", "open sesame"))] {
        assert_eq!(
            status(&client, &exporter, wrong).await,
            Some(StatusCode::UNAUTHORIZED)
        );
    }
    for path in ["/", "/healthz", "/nothing"] {
        let url = format!("https://localhost:{}{path}", exporter.address.port());
        let answer = client.get(url).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.headers()["www-authenticate"], "Basic");
        assert_eq!(answer.headers()["x-frame-options"], "deny");
    }
}

#[tokio::test]
async fn a_client_may_be_asked_for_its_certificate() {
    let folder = certificates();
    let rules = "tls_server_config: {cert_file: server.crt, key_file: server.key, \
                 client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert, min_version: TLS13}\n";
    let exporter = serve(folder.path(), rules);
    let with = client(folder.path(), true);
    assert_eq!(status(&with, &exporter, None).await, Some(StatusCode::OK));
    let without = client(folder.path(), false);
    assert_eq!(status(&without, &exporter, None).await, None);
    // Signed by somebody else.
    let stranger = certificates();
    for name in ["client.crt", "client.key"] {
        write(
            folder.path(),
            name,
            &fs::read_to_string(stranger.path().join(name)).unwrap(),
        );
    }
    let unknown = client(folder.path(), true);
    assert_eq!(status(&unknown, &exporter, None).await, None);
}

#[tokio::test]
async fn changed_files_are_in_force_at_once_and_wrong_ones_never() {
    let folder = certificates();
    let exporter = serve(folder.path(), TLS);
    let old = client(folder.path(), false);
    assert_eq!(status(&old, &exporter, None).await, Some(StatusCode::OK));
    // Half of a renewal: the key does not fit, the old pair stays in force.
    let renewed = certificates();
    let new_text = |name: &str| fs::read_to_string(renewed.path().join(name)).unwrap();
    write(folder.path(), "server.crt", &new_text("server.crt"));
    assert_eq!(status(&old, &exporter, None).await, Some(StatusCode::OK));
    write(folder.path(), "server.key", &new_text("server.key"));
    let new = client(renewed.path(), false);
    assert_eq!(status(&new, &exporter, None).await, Some(StatusCode::OK));
    assert_eq!(status(&old, &exporter, None).await, None);
    // Nobody opens the port by damaging the file.
    for wrong in ["", "tls_server_config: [\n", "basic_auth_users: {}\n"] {
        write(folder.path(), "web.yaml", wrong);
        assert_eq!(status(&new, &exporter, None).await, Some(StatusCode::OK));
    }
    let users = format!("{TLS}basic_auth_users: {{alice: \"{}\"}}\n", hash());
    write(folder.path(), "web.yaml", &users);
    assert_eq!(
        status(&new, &exporter, None).await,
        Some(StatusCode::UNAUTHORIZED)
    );
}

#[tokio::test]
async fn plain_http_is_told_so_and_a_silent_client_holds_up_nobody() {
    let folder = certificates();
    let exporter = serve(folder.path(), TLS);
    let _silent = exporter.silent(16);
    let mut plain = TcpStream::connect(exporter.address).unwrap();
    plain
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(plain, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    // A reset may follow the answer, since what was asked is not read.
    let _ = plain.read_to_string(&mut answer);
    assert!(
        answer.contains("Client sent an HTTP request to an HTTPS server"),
        "{answer}"
    );
    let client = client(folder.path(), false);
    assert_eq!(status(&client, &exporter, None).await, Some(StatusCode::OK));
}

/// Web configurations and what is said of them.
const REFUSED: &[(&str, &str)] = &[
    ("", "is empty; name tls_server_config or basic_auth_users"),
    (
        "basic_auth_users: {alice: secret}\n",
        "basic_auth_users.alice: not a bcrypt hash",
    ),
    ("basic_auth_user: {}\n", "unknown key \"basic_auth_user\""),
    (
        "tls_server_config: {cert_file: server.crt}\n",
        "write one of key and key_file",
    ),
    (
        "tls_server_config: {cert_file: nothing.crt, key_file: server.key}\n",
        "nothing.crt: cannot be read",
    ),
    (
        "tls_server_config: {cert_file: noise, key_file: server.key}\n",
        "noise: holds no certificate in PEM form",
    ),
    (
        "tls_server_config: {cert_file: server.crt, key_file: noise}\n",
        "noise: holds no private key in PEM form",
    ),
    (
        "tls_server_config: {cert_file: server.crt, key_file: client.key}\n",
        "does not fit the key",
    ),
    (
        "tls_server_config: {cert_file: server.crt, key_file: server.key, client_auth_type: RequireAnyClientCert}\n",
        "guards nothing; write RequireAndVerifyClientCert",
    ),
    (
        "tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt}\n",
        "need each other",
    ),
    (
        "tls_server_config: {cert_file: server.crt, key_file: server.key, client_allowed_sans: [a]}\n",
        "client_allowed_sans: not obeyed here",
    ),
    (
        "rate_limit: {interval: 1s, burst: 20}\n",
        "rate_limit: not obeyed here",
    ),
    (
        "http_server_config: {headers: {Set-Cookie: a}}\n",
        "Set-Cookie: cannot be set",
    ),
];

#[test]
fn what_guards_nothing_is_refused_in_one_line() {
    let folder = certificates();
    let file = folder.path().join("web.yaml");
    let path = file.display().to_string();
    write(folder.path(), "noise", "-----BEGIN NOISE-----\n");
    for (rules, said) in REFUSED {
        write(folder.path(), "web.yaml", rules);
        let output = output(
            &[
                &SIMULATED[..],
                &["--address", "127.0.0.1:0", "--web-config-file", &path],
            ]
            .concat(),
        );
        let error = text(&output.stderr);
        let last = error.lines().last().unwrap_or_default();
        assert_eq!(output.status.code(), Some(1), "{rules}: {error}");
        assert!(last.contains(said), "{rules}: {error}");
        assert!(
            last.starts_with("foresail-exporter: ") && error.lines().count() == 1,
            "{error}"
        );
    }
    let nothing = output(&["--web-config-file", ""]);
    assert_eq!(nothing.status.code(), Some(2));
}
