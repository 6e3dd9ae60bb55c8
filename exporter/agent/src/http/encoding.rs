//! Whether a client wants gzip, by RFC 9110's quality values, and gzip itself.

use std::io::{self, Write};

use flate2::{Compression, write::GzEncoder};

/// Whether `accept` (the joined `Accept-Encoding` headers) prefers gzip to no encoding.
pub(super) fn wants_gzip(accept: &str) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    for item in accept.split(',') {
        let mut parts = item.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = quality(parts);
        match coding.as_str() {
            "gzip" | "x-gzip" => gzip = Some(quality),
            "*" => any = Some(quality),
            "identity" => identity = Some(quality),
            _ => {}
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity.unwrap_or(0.0)
}

/// Quality of an item, 1 when it has none and 0 when it cannot be read.
fn quality<'a>(parameters: impl Iterator<Item = &'a str>) -> f64 {
    for parameter in parameters {
        let Some((name, value)) = parameter.split_once('=') else {
            continue;
        };
        if name.trim().eq_ignore_ascii_case("q") {
            let value = value.trim().parse::<f64>().ok();
            return value
                .filter(|value| (0.0..=1.0).contains(value))
                .unwrap_or(0.0);
        }
    }
    1.0
}

/// `bytes`, gzipped. Fast rather than small: a scrape is repeated every few seconds.
pub(super) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::wants_gzip;

    #[test]
    fn qualities_are_respected() {
        for accept in [
            "gzip",
            "deflate, GZIP;q=0.5",
            "*",
            "gzip;q=1.0, identity;q=0.5",
            "br, x-gzip",
        ] {
            assert!(wants_gzip(accept), "{accept}");
        }
        for refuse in [
            "",
            "identity",
            "gzip;q=0",
            "gzip; Q=0.0",
            "*;q=0",
            "gzip;q=0, *",
            "gzip;q=0.2, identity;q=0.9",
            "gzip;q=much",
            "gzipped",
        ] {
            assert!(!wants_gzip(refuse), "{refuse}");
        }
    }
}
