//! URLs that may carry a password: the one that is asked, and the one that is shown. Only the asked one holds secrets,
//! and it has no way to be printed.

use std::fmt;

/// A URL as it was written, with its user, password and query.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretUrl(String);

impl SecretUrl {
    /// One without secrets.
    pub(crate) fn plain(url: &str) -> Self {
        Self(url.into())
    }

    /// The URL to ask; not for labels, logs or pages.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretUrl")
    }
}

/// The URL to ask and the one to show; an error is the text as it may be shown.
pub(crate) fn read(text: &str) -> Result<(SecretUrl, String), String> {
    let Ok(mut url) = reqwest::Url::parse(text) else {
        return Err(masked(text));
    };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(masked(text));
    }
    let secret = SecretUrl(text.into());
    let plain = url.username().is_empty() && url.password().is_none();
    if plain && url.query().is_none() && url.fragment().is_none() {
        return Ok((secret, text.into()));
    }
    // Neither fails on a URL with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let query = url.query().map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((key, _)) => format!("{key}=***"),
            None => "***".into(),
        });
        pairs.collect::<Vec<String>>().join("&")
    });
    url.set_query(query.as_deref());
    Ok((secret, url.to_string()))
}

/// Something that is no URL, without what may be a password in it.
fn masked(text: &str) -> String {
    let (text, query) = match text.split_once('?') {
        Some((text, _)) => (text, "?***"),
        None => (text, ""),
    };
    match text.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}{query}"),
        None => format!("{text}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_asked_with_and_never_shown() {
        for (text, shown) in [
            ("http://h:8000/metrics", "http://h:8000/metrics"),
            ("http://me:pw@h:8000/metrics", "http://h:8000/metrics"),
            (
                "https://pw@h/m?token=pw&x=pw",
                "https://h/m?token=***&x=***",
            ),
            ("http://h/m?pw", "http://h/m?***"),
            ("http://h/m#pw", "http://h/m"),
        ] {
            let (asked, found) = read(text).unwrap();
            assert_eq!((asked.reveal(), found.as_str()), (text, shown));
            assert_eq!(format!("{asked:?}"), "SecretUrl");
        }
    }

    #[test]
    fn what_is_no_url_is_shown_without_secrets() {
        for (text, shown) in [
            ("10.0.0.5:8000", "10.0.0.5:8000"),
            ("me:pw@h/metrics", "***@h/metrics"),
            ("ftp://me:p@w@h/m?token=pw", "***@h/m?***"),
        ] {
            assert_eq!(read(text).unwrap_err(), shown);
        }
    }
}
