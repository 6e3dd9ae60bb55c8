//! Passwords by HTTP's basic authentication against bcrypt hashes. A hash takes a tenth of a second by design, so what
//! was judged once is remembered, by a digest and never by the password, and one hash is computed at a time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;

/// Judgements that are remembered; then all are forgotten.
const MOST: usize = 100;
/// Bytes of a password that bcrypt looks at.
const LONGEST: usize = 72;
/// Costs of a hash that are taken; a higher one would hold up scrapes for seconds.
const COSTS: std::ops::RangeInclusive<u32> = 4..=15;
/// Hash of no password at all, so that an unknown name takes as long as a known one.
const NOBODY: &str = "$2y$10$abcdefghijklmnopqrstuuW2bM2Q5gS0yqpYQ0d2rgqzGmP1p8A0m";

/// Whether somebody may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes.
    Welcome,
    /// Without a name and password that are known: no.
    Unknown,
}

/// Whether `hash` is one that can be checked.
pub(super) fn is_hash(hash: &str) -> bool {
    let parts = hash.parse::<bcrypt::HashParts>();
    parts.is_ok_and(|parts| COSTS.contains(&parts.get_cost()))
}

/// Names with their hashes, and what was judged of late.
pub(super) struct Users {
    hashes: BTreeMap<String, String>,
    judged: Mutex<BTreeMap<[u8; 32], bool>>,
    turn: Semaphore,
}

impl Default for Users {
    fn default() -> Self {
        Self::new(BTreeMap::new())
    }
}

impl Users {
    /// Without any, everybody may read.
    pub(super) fn new(hashes: BTreeMap<String, String>) -> Self {
        Self {
            hashes,
            judged: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Judges the header `Authorization`.
    pub(super) async fn judge(&self, authorization: Option<&[u8]>) -> Verdict {
        if self.hashes.is_empty() {
            return Verdict::Welcome;
        }
        let Some((name, password)) = authorization.and_then(credentials) else {
            return Verdict::Unknown;
        };
        let known = self.hashes.get(&name);
        let hash = known.map_or(NOBODY, String::as_str).to_owned();
        let digest = fingerprint(&[name.as_bytes(), hash.as_bytes(), &password]);
        let remembered = || {
            let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
            judged.get(&digest).copied()
        };
        let right = if let Some(right) = remembered() {
            right
        } else {
            // An error would mean that the semaphore is closed, which nobody does.
            let _turn = self.turn.acquire().await;
            match remembered() {
                Some(right) => right,
                None => self.compute(digest, password, hash).await,
            }
        };
        if right && known.is_some() {
            Verdict::Welcome
        } else {
            Verdict::Unknown
        }
    }

    async fn compute(&self, digest: [u8; 32], password: Vec<u8>, hash: String) -> bool {
        let check = move || {
            let seen = &password[..password.len().min(LONGEST)];
            bcrypt::verify(seen, &hash).unwrap_or(false)
        };
        let right = tokio::task::spawn_blocking(check).await.unwrap_or(false);
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if judged.len() >= MOST {
            judged.clear();
        }
        judged.insert(digest, right);
        right
    }
}

fn fingerprint(parts: &[&[u8]]) -> [u8; 32] {
    let mut all = Vec::new();
    for part in parts {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    }
    let mut own = [0; 32];
    own.copy_from_slice(digest(&SHA256, &all).as_ref());
    own
}

/// Name and password of a header.
fn credentials(header: &[u8]) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = header.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let plain = BASE64_STANDARD.decode(rest.trim_ascii()).ok()?;
    let colon = plain.iter().position(|byte| *byte == b':')?;
    let name = String::from_utf8(plain[..colon].to_vec()).ok()?;
    Some((name, plain[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Vec<u8> {
        format!("Basic {}", BASE64_STANDARD.encode(text)).into_bytes()
    }

    #[tokio::test]
    async fn a_name_and_its_password_are_welcome_and_nothing_else_is() {
        let hash = bcrypt::hash("open sesame", 4).unwrap();
        assert!(is_hash(&hash) && !is_hash("open sesame") && !is_hash(""));
        let users = Users::new([("alice".to_owned(), hash)].into());
        for _ in 0..2 {
            // The second time it is remembered.
            assert_eq!(
                users.judge(Some(&header("alice:open sesame"))).await,
                Verdict::Welcome
            );
            for wrong in [
                "alice:open",
                "bob:open sesame",
                "alice",
                ":",
                "alice:open sesame ",
            ] {
                assert_eq!(
                    users.judge(Some(&header(wrong))).await,
                    Verdict::Unknown,
                    "{wrong}"
                );
            }
        }
        assert_eq!(users.judge(None).await, Verdict::Unknown);
        assert_eq!(users.judge(Some(b"Basic")).await, Verdict::Unknown);
        assert_eq!(users.judge(Some(b"Basic !!!")).await, Verdict::Unknown);
        assert_eq!(users.judge(Some(b"Bearer abc")).await, Verdict::Unknown);
        assert_eq!(Users::default().judge(None).await, Verdict::Welcome);
    }

    #[tokio::test]
    async fn guesses_without_end_are_not_remembered_without_end() {
        let hash = bcrypt::hash("x", 4).unwrap();
        let users = Users::new([("alice".to_owned(), hash)].into());
        for guess in 0..MOST + 10 {
            users.judge(Some(&header(&format!("alice:{guess}")))).await;
        }
        assert!(users.judged.lock().unwrap().len() <= MOST);
    }

    #[test]
    fn nobodys_hash_is_a_hash() {
        assert!(is_hash(NOBODY));
        // Computed whole: an error would answer at once and tell that the name is unknown.
        assert!(matches!(bcrypt::verify("x", NOBODY), Ok(false)));
    }
}
