//! One answer of a source. Unknown is never zero: a reading that is not there has no number to give.

/// What a source says to one question.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Reading<T> {
    /// It answered.
    Value(T),
    /// This device or driver does not know the question; a lasting state, not a fault.
    #[default]
    Unsupported,
    /// It should know and did not answer: why, in one line.
    Failed(String),
}

impl<T> Reading<T> {
    /// The value, when there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unsupported | Self::Failed(_) => None,
        }
    }

    /// Why there is no value although there should be one.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) => Some(reason),
            Self::Value(_) | Self::Unsupported => None,
        }
    }

    /// The same reading in another unit or type.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Self::Value(value) => Reading::Value(convert(value)),
            Self::Unsupported => Reading::Unsupported,
            Self::Failed(reason) => Reading::Failed(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_has_no_number() {
        assert_eq!(Reading::Value(3).map(|n| n * 2).value(), Some(&6));
        assert_eq!(Reading::<u64>::Unsupported.map(|n| n * 2).value(), None);
        let failed = Reading::<u64>::Failed("gpu is lost".into()).map(|n| n * 2);
        assert_eq!(failed.value(), None);
        assert_eq!(failed.failure(), Some("gpu is lost"));
    }
}
